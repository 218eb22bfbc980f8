import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface RedisAddress {
  readonly port: number;
  readonly host?: string;
  readonly tls?: boolean;
}

/** `true` once Redis answers commands (or asks for a password), else what stands in the way. */
export function probeRedis({ port, host = '127.0.0.1', tls = false }: RedisAddress, timeoutMs = 1000): Promise<true | string> {
  return new Promise((resolve) => {
    const socket: Socket = tls ? connectTls({ port, host, rejectUnauthorized: false }) : connectTcp({ port, host });
    const finish = (answer: true | string): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => finish(`no answer from port ${port} within ${timeoutMs} ms`));
    socket.once('error', (error) => finish(error.message));
    socket.once('data', (reply) => finish(isUp(reply.toString('latin1')) || reply.toString('latin1').trim()));
    socket.write('*1\r\n$4\r\nPING\r\n');
  });
}

function isUp(reply: string): boolean {
  return reply.startsWith('+PONG') || reply.startsWith('-NOAUTH') || reply.startsWith('-NOPERM');
}

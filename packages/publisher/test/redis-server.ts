import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A redis-server of its own on a free loopback port, without persistence. (This package may not use the one of the fleet.) */
export async function startRedisServer(...args: readonly string[]): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'publisher-redis-'));
  const port = await freePort();
  const command = 'redis-server';
  const server = spawn(command, ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', ...args], {
    stdio: 'ignore',
  });
  await untilItListens(server, port);
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      if (server.exitCode === null && server.kill('SIGKILL')) await once(server, 'exit');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function untilItListens(server: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with code ${server.exitCode}`);
    const socket = createConnection(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(20);
  }
  throw new Error('redis-server does not listen');
}

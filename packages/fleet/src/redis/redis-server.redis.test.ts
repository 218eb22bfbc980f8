import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.js';
import { probeRedis } from './probe-redis.js';
import { type RedisServer, startRedisServer } from './redis-server.js';

const started: RedisServer[] = [];
const start = async (...args: Parameters<typeof startRedisServer>): Promise<RedisServer> => {
  const server = await startRedisServer(...args);
  started.push(server);
  return server;
};

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});

/** One inline command on a connection of its own; the raw reply. */
function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
    socket.once('error', reject);
    socket.once('data', (reply) => {
      socket.destroy();
      resolve(reply.toString().trim());
    });
  });
}

describe('a redis-server of its own', () => {
  test('answers at its url and is gone with its folder after stop', async () => {
    const server = await startRedisServer();
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
    expect(await ask(server.port, 'PING')).toBe('+PONG');
    await server.stop();
    expect(await probeRedis({ port: server.port })).toContain('ECONNREFUSED');
    expect(existsSync(server.dir)).toBe(false);
  });

  test('pause leaves connections open without an answer, resume goes on', async () => {
    const server = await start();
    server.pause();
    expect(await probeRedis({ port: server.port }, 100)).toContain('no answer');
    server.resume();
    await eventually(async () => expect(await probeRedis({ port: server.port })).toBe(true));
  });

  test('with persistence, what was acknowledged survives kill -9 and a restart on the same port', async () => {
    const server = await start({ persistence: 'aof' });
    await ask(server.port, 'SET kept yes');
    await server.restart({ keepData: true });
    await eventually(async () => expect(await ask(server.port, 'GET kept')).toContain('yes'));
  });

  test('a restart without its data comes back empty', async () => {
    const server = await start({ persistence: 'aof' });
    await ask(server.port, 'SET kept yes');
    await server.restart({ keepData: false });
    expect(await ask(server.port, 'GET kept')).toBe('$-1');
  });

  test('TLS: it answers on rediss:// only', async () => {
    const server = await start({ tls: true });
    expect(server.url).toBe(`rediss://127.0.0.1:${server.port}`);
    expect(await probeRedis({ port: server.port, tls: true })).toBe(true);
    expect(await probeRedis({ port: server.port, tls: false }, 200)).not.toBe(true);
  });

  test('ACL users: the default user is off and the url carries the first one', async () => {
    const server = await start({ users: [{ name: 'gateway', password: 'p@ss', rules: '~* &* +@all' }] });
    expect(server.url).toBe(`redis://gateway:p%40ss@127.0.0.1:${server.port}`);
    expect(await ask(server.port, 'SET a b')).toContain('NOAUTH');
    expect(await ask(server.port, 'AUTH gateway p@ss')).toBe('+OK');
  });

  test('a replica follows its master', async () => {
    const master = await start();
    const replica = await start({ replicaOf: master.port });
    await ask(master.port, 'SET a b');
    await eventually(async () => expect(await ask(replica.port, 'GET a')).toContain('b'));
  });

  test('a server that cannot start says why with its own words', async () => {
    await expect(start({ args: ['--no-such-option', '1'] })).rejects.toThrow(/ended before it was ready \(code 1\)[\s\S]*no-such-option/);
  });
});

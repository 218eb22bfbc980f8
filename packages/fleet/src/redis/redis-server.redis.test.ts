import { existsSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.js';
import { probeRedis } from './probe-redis.js';
import { RespClient } from './resp-client.js';
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

describe('a redis-server of its own', () => {
  test('answers at its url and is gone with its folder after stop', async () => {
    const server = await startRedisServer();
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
    expect(await server.call('PING')).toBe('PONG');
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
    await server.call('SET', 'kept', 'yes');
    await server.restart({ keepData: true });
    await eventually(async () => expect(await server.call('GET', 'kept')).toBe('yes'));
  });

  test('a restart without its data comes back empty', async () => {
    const server = await start({ persistence: 'aof' });
    await server.call('SET', 'kept', 'yes');
    await server.restart({ keepData: false });
    expect(await server.call('GET', 'kept')).toBeNull();
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
    const stranger = await RespClient.connect({ port: server.port });
    await expect(stranger.call('SET', 'a', 'b')).rejects.toThrow('NOAUTH');
    stranger.close();
    expect(await server.call('SET', 'a', 'b')).toBe('OK');
  });

  test('a replica follows its master', async () => {
    const master = await start();
    const replica = await start({ replicaOf: master.port });
    await master.call('SET', 'a', 'b');
    await eventually(async () => expect(await replica.call('GET', 'a')).toBe('b'));
  });

  test('replies of every shape are read, large ones in pieces too', async () => {
    const server = await start();
    const large = 'x'.repeat(1_000_000);
    expect(await Promise.all([server.call('SET', 'large', large), server.call('GET', 'large'), server.call('STRLEN', 'large')])).toEqual([
      'OK',
      large,
      1_000_000,
    ]);
    expect(await server.call('EVAL', "return {1, 'two', {false, {}}}", 0)).toEqual([1, 'two', [null, []]]);
    await expect(server.call('NONSENSE')).rejects.toThrow('unknown command');
  });

  test('a server that cannot start says why with its own words', async () => {
    await expect(start({ args: ['--no-such-option', '1'] })).rejects.toThrow(/ended before it was ready \(code 1\)[\s\S]*no-such-option/);
  });
});

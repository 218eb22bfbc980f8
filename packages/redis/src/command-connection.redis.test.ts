import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually, freePort, TestRedis } from '../test/redis-server.js';
import type { CommandConnection } from './command-connection.js';
import { LuaScript } from './lua-script.js';
import { createCommandConnection } from './redis-connections.js';
import { RedisReplyError, RedisUnavailableError } from './redis-errors.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function server(args?: readonly string[]): Promise<TestRedis> {
  const redis = await TestRedis.start(args);
  cleanups.push(() => redis.stop());
  return redis;
}

function connection(url: string, commandTimeoutMs = 200): CommandConnection {
  const command = createCommandConnection({ url, commandTimeoutMs }, systemClock, silentLogger, 'test');
  cleanups.push(() => command.stop());
  command.start();
  return command;
}

async function connected(url: string, commandTimeoutMs?: number): Promise<CommandConnection> {
  const command = connection(url, commandTimeoutMs);
  await eventually(() => command.isUp);
  return command;
}

async function failureOf(promise: Promise<unknown>): Promise<{ error: unknown; afterMs: number }> {
  const startedAtMs = performance.now();
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, afterMs: performance.now() - startedAtMs };
}

describe('the command connection', () => {
  test('fails a command at once while Redis has never been there, and works when it comes', async () => {
    const port = await freePort();
    const command = connection(`redis://127.0.0.1:${port}`);
    const { error, afterMs } = await failureOf(command.call('PING'));
    expect(error).toBeInstanceOf(RedisUnavailableError);
    expect(afterMs).toBeLessThan(50);
    expect(command.isUp).toBe(false);
  });

  test('says when commands can be sent: when Redis comes, at once from then on, and when it is back', async () => {
    const redis = await TestRedis.prepare();
    cleanups.push(() => redis.stop());
    const command = connection(redis.url);
    const waiting = [command.whenUp(), command.whenUp()];
    await redis.run(['--save', '']);
    await Promise.all(waiting);
    expect(await command.call('PING')).toBe('PONG');
    await command.whenUp();
    await redis.kill();
    await eventually(() => !command.isUp);
    const again = command.whenUp();
    await redis.run();
    await again;
    expect(await command.call('PING')).toBe('PONG');
  });

  test('lets nobody wait for it once it is stopped', async () => {
    const command = connection(`redis://127.0.0.1:${await freePort()}`);
    const waiting = failureOf(command.whenUp());
    command.stop();
    expect((await waiting).error).toBeInstanceOf(RedisUnavailableError);
    expect((await failureOf(command.whenUp())).error).toBeInstanceOf(RedisUnavailableError);
  });

  test('fails a command after the timeout when Redis stops answering, the next ones at once, and recovers by itself', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    redis.pause();
    const slow = await failureOf(command.call('SET', 'a', '1'));
    expect(slow.error).toBeInstanceOf(RedisUnavailableError);
    expect(slow.afterMs).toBeGreaterThan(150);
    expect(slow.afterMs).toBeLessThan(1000);
    const fast = await failureOf(command.call('SET', 'queued', '1'));
    expect(fast.error).toBeInstanceOf(RedisUnavailableError);
    expect(fast.error).toMatchObject({ isUnsent: true });
    expect(fast.afterMs).toBeLessThan(50);
    redis.resume();
    const resumedAtMs = performance.now();
    await eventually(() => command.isUp);
    expect(performance.now() - resumedAtMs).toBeLessThan(2000);
    expect(await command.call('EXISTS', 'queued')).toBe(0);
  });

  test('notices a peer that died silently although nobody sends a command', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    redis.pause();
    await eventually(() => !command.isUp);
    redis.resume();
    await eventually(() => command.isUp);
  });

  test('keeps a connection that is only slow: something was answered since the command was sent', async () => {
    const redis = await server(['--save', '', '--enable-debug-command', 'yes']);
    const command = await connected(redis.url, 400);
    const id = await command.call('CLIENT', 'ID');
    const first = command.call('DEBUG', 'SLEEP', '0.3');
    await new Promise((resolve) => setTimeout(resolve, 100)); // the second is read only when the first is done, and sent before that
    const second = await failureOf(command.call('DEBUG', 'SLEEP', '0.5'));
    await first;
    expect(second.error).toBeInstanceOf(RedisUnavailableError);
    expect(second.error).toMatchObject({ isUnsent: false });
    expect(await eventually(() => command.call('CLIENT', 'ID'))).toBe(id);
  });

  test('replaces a connection on which nothing was answered since the command was sent', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    const id = await command.call('CLIENT', 'ID');
    expect((await failureOf(command.call('BLPOP', 'nothing', '5'))).error).toBeInstanceOf(RedisUnavailableError);
    await eventually(() => command.isUp);
    expect(await command.call('CLIENT', 'ID')).not.toBe(id);
  });

  test('works again after a restart of Redis', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    await redis.kill();
    await eventually(() => !command.isUp);
    await redis.run();
    await eventually(() => command.isUp);
    expect(await command.call('PING')).toBe('PONG');
  });

  test('refuses more commands than may wait for an answer', async () => {
    const redis = await server();
    const command = await connected(redis.url, 2000);
    redis.pause();
    const calls = Array.from({ length: 10_001 }, () => failureOf(command.call('PING')));
    const last = await calls.at(-1);
    expect(String(last?.error)).toContain('too many commands');
    expect(last?.error).toMatchObject({ isUnsent: true });
    redis.resume();
    expect((await Promise.all(calls)).filter(({ error }) => error === undefined)).toHaveLength(10_000);
  });

  test('tells an answer that is an error from no answer, by its code', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    await command.call('SET', 'text', 'x');
    const { error } = await failureOf(command.call('XADD', 'text', '*', 'a', 'b'));
    expect(error).toMatchObject({ code: 'WRONGTYPE' });
    expect(command.isUp).toBe(true);
  });

  test('passes bytes through untouched, Buffers or not', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    const bytes = Uint8Array.of(0, 255, 13, 10, 128);
    await command.call('SET', 'bytes', bytes);
    expect(await command.callBuffer('GET', 'bytes')).toEqual(Buffer.from(bytes));
  });

  test('runs several scripts in one go, each with its own result, whether the server knows them or not', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    const double = new LuaScript('double.lua', 'return tonumber(ARGV[1]) * 2');
    const broken = new LuaScript('broken.lua', 'return redis.error_reply("WRONG " .. KEYS[1])');
    for (const round of [1, 2]) {
      const results = await command.runScripts([
        { script: double, keys: [], args: [round] },
        { script: broken, keys: ['k'], args: [] },
        { script: double, keys: [], args: [round + 20] },
      ]);
      expect(results).toEqual([round * 2, expect.any(RedisReplyError), (round + 20) * 2]);
    }
    await command.call('SCRIPT', 'FLUSH');
    expect(await command.runScript(double, [], [4])).toBe(8);
    await expect(command.runScript(broken, ['k'], [])).rejects.toMatchObject({ code: 'WRONG' });
  });

  test('treats a server that has become a replica as unavailable and asks again for the master', async () => {
    const redis = await server();
    const command = await connected(redis.url);
    await command.call('REPLICAOF', '127.0.0.1', '1');
    expect((await failureOf(command.call('SET', 'a', '1'))).error).toBeInstanceOf(RedisUnavailableError);
    const writes = new LuaScript('write.lua', 'return redis.call("SET", KEYS[1], "1")');
    await eventually(() => command.isUp);
    expect((await failureOf(command.runScript(writes, ['a'], []))).error).toBeInstanceOf(RedisUnavailableError);
  });
});

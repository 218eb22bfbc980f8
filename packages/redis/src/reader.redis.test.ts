import { type Logger, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, freePort, TestRedis } from '../test/redis-server.js';
import { slowLine } from '../test/slow-line.js';
import type { Reader } from './reader.js';
import { RedisConnections } from './redis-connections.js';
import { RedisReplyError, RedisUnavailableError } from './redis-errors.js';
import { decodeReadGroupReply } from './stream-replies.js';

let redis: TestRedis;
let connections: RedisConnections;
let reader: Reader;

beforeEach(async () => {
  redis = await TestRedis.start();
  connections = new RedisConnections({ url: redis.url, commandTimeoutMs: 200 }, systemClock, silentLogger);
  connections.start();
  reader = connections.newReader('gateway.reader:test');
  await reader.open();
  await eventually(() => connections.command.isUp);
});

afterEach(async () => {
  connections.stop();
  await redis.stop();
});

const blockingRead = (blockMs: number) =>
  reader.run(
    [
      ['XREADGROUP', 'GROUP', 'g', 'worker', 'COUNT', 10, 'BLOCK', blockMs, 'STREAMS', 's', 'canary', '>', '>'],
      ['XLEN', 's'],
    ],
    blockMs,
  );

const createGroups = () =>
  connections.command.pipeline([
    ['XGROUP', 'CREATE', 's', 'g', '$', 'MKSTREAM'],
    ['XGROUP', 'CREATE', 'canary', 'g', '$', 'MKSTREAM'],
  ]);

describe('a reader', () => {
  test('gets entries as bytes, with the calls that wait behind the blocking one answered at the same moment', async () => {
    await createGroups();
    const read = blockingRead(2000);
    await eventually(async () => String(await connections.command.call('INFO', 'clients')).includes('blocked_clients:1'));
    const id = await connections.command.call('XADD', 's', '*', 'envelope', Uint8Array.of(0xff, 0x00));
    const [reply, length] = await read;
    expect(decodeReadGroupReply(reply)).toEqual(new Map([['s', [{ id, fields: [Buffer.from('envelope'), Buffer.of(0xff, 0x00)] }]]]));
    expect(length).toBe(1);
  });

  test('answers with nothing when nothing came', async () => {
    await createGroups();
    const [reply] = await blockingRead(20);
    expect(decodeReadGroupReply(reply).size).toBe(0);
  });

  test('gives an error reply in its place, the others are not hurt', async () => {
    const [missing, length] = await blockingRead(20);
    expect(missing).toBeInstanceOf(RedisReplyError);
    expect(missing).toMatchObject({ code: 'NOGROUP' });
    expect(length).toBe(0);
    expect(reader.isOpen).toBe(true);
  });

  test('is abandoned by its watchdog when Redis stops answering, and never hangs', async () => {
    await createGroups();
    redis.pause();
    const startedAtMs = performance.now();
    await expect(blockingRead(100)).rejects.toBeInstanceOf(RedisUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(1500);
    expect(reader.isOpen).toBe(false);
    await expect(reader.run([['PING']])).rejects.toBeInstanceOf(RedisUnavailableError);
    redis.resume();
  });

  test('gives up opening when Redis accepts the connection and says nothing', async () => {
    redis.pause();
    const startedAtMs = performance.now();
    await expect(connections.newReader('x').open()).rejects.toBeInstanceOf(RedisUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(1500);
    redis.resume();
  });

  test('fails to open at once where nobody listens', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const elsewhere = new RedisConnections({ url, commandTimeoutMs: 5000 }, systemClock, silentLogger);
    const startedAtMs = performance.now();
    await expect(elsewhere.newReader('x').open()).rejects.toBeInstanceOf(RedisUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(500);
  });

  test('fails a blocked read at once when the server cuts the connection, and does not come back', async () => {
    await createGroups();
    const [clientId] = await reader.run([['CLIENT', 'ID']]);
    const read = expect(blockingRead(5000)).rejects.toBeInstanceOf(RedisUnavailableError);
    await connections.command.call('CLIENT', 'KILL', 'ID', Number(clientId));
    await read;
    expect(reader.isOpen).toBe(false);
    expect(connections.isUp('reader')).toBe(false);
  });

  test('says that its connection was lost while nobody waited for an answer; closing it is no loss', async () => {
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (_, message) => void lines.push(message) };
    const watched = new RedisConnections({ url: redis.url, commandTimeoutMs: 200 }, systemClock, logger);
    const [closed, cut] = [watched.newReader('closed'), watched.newReader('cut')];
    await closed.open();
    closed.close();
    await cut.open();
    const [clientId] = await cut.run([['CLIENT', 'ID']]);
    expect(lines).toEqual([]);
    await connections.command.call('CLIENT', 'KILL', 'ID', Number(clientId));
    await eventually(() => !cut.isOpen);
    expect(lines).toEqual(['Redis is unreachable']);
    watched.stop();
  });

  test('ends a blocked read at once when it is closed', async () => {
    await createGroups();
    const read = expect(blockingRead(5000)).rejects.toBeInstanceOf(RedisUnavailableError);
    const startedAtMs = performance.now();
    reader.close();
    await read;
    expect(performance.now() - startedAtMs).toBeLessThan(100);
  });

  // A process that was stopped for longer than the watchdog's time wakes with the timer due and the answer still unread in the socket.
  test('does not abandon an answer that arrived while this process was stopped', async () => {
    await createGroups();
    const read = blockingRead(50);
    await eventually(async () => String(await connections.command.call('INFO', 'clients')).includes('blocked_clients:1'));
    const untilMs = performance.now() + 600;
    while (performance.now() < untilMs);
    const [reply] = await read;
    expect(decodeReadGroupReply(reply).size).toBe(0);
    expect(reader.isOpen).toBe(true);
  });

  test('does not abandon a large answer that is still arriving on a slow line', async () => {
    await connections.command.call('SET', 'large', 'x'.repeat(4_000_000));
    const line = await slowLine(redis.port);
    const distant = new RedisConnections({ url: `redis://127.0.0.1:${line.port}`, commandTimeoutMs: 200 }, systemClock, silentLogger);
    const slow = distant.newReader('slow');
    await slow.open();
    const startedAtMs = performance.now();
    const [answer] = await slow.run([['GET', 'large']]);
    expect(performance.now() - startedAtMs).toBeGreaterThan(500);
    expect(Buffer.isBuffer(answer) && answer.length).toBe(4_000_000);
    slow.close();
    line.close();
  });

  test('shows under its name in CLIENT LIST', async () => {
    const list = String(await connections.command.call('CLIENT', 'LIST'));
    expect(list).toContain('name=gateway.reader:test');
    expect(connections.isUp('reader')).toBe(true);
  });
});

import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { STREAM_START, type StreamId, type UserId } from '@event-gateway/protocol';
import type { RedisConnections } from '@event-gateway/redis';
import { type Logger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createReadingReplica, endReadingReplicas, stream } from '../../test/reading-replica.js';
import { StreamHistory } from './stream-history.js';
import type { StreamSource } from './stream-source.js';

let server: RedisServer;
let lines: string[];
let connections: RedisConnections;
let source: StreamSource;
let history: StreamHistory;

const warn = (_: object, message: string): void => void lines.push(message);
const logger: Logger = { debug: () => undefined, info: () => undefined, warn, error: warn, child: () => logger };
const alice = 'alice' as UserId;

beforeEach(async () => {
  server = await startRedisServer();
  lines = [];
  // The source is asked and reads nothing: whatever is done to the stream stays as it is.
  ({ connections, source } = createReadingReplica(server, 'r1', { logger }));
  history = new StreamHistory({ redis: connections.command, source, clock: systemClock, logger }, { stream, maxEntryBytes: 1_000_000 });
  connections.start();
  await eventually(() => connections.command.isUp);
});
afterEach(async () => {
  await endReadingReplicas();
  await server.stop();
});

const publish = async (envelope = '{"type":"x"}'): Promise<StreamId> =>
  (await server.call('XADD', stream, '*', 'recipients', '["alice"]', 'envelope', envelope)) as StreamId;
const walk = (cursor: StreamId) => history.walk(cursor, alice, () => STREAM_START);

describe('the stream’s own history', () => {
  // Pages of 500 entries of up to 2 MiB each came over the connection that presence and everything else is asked on.
  test.each([
    { entries: 40, isTooMuch: false },
    { entries: 80, isTooMuch: true },
  ])('of $entries large entries is read in small pages, and only up to what a sync is cheaper than', async ({ entries, isTooMuch }) => {
    const entryBytes = 300_000;
    const first = await publish();
    const envelope = JSON.stringify({ type: 'x', payload: 'x'.repeat(entryBytes) });
    for (let count = 0; count < entries; count++) await publish(envelope);
    const pages: number[] = [];
    const { command } = connections;
    const callBuffer = command.callBuffer.bind(command);
    command.callBuffer = async (...call) => {
      const reply = await callBuffer(...call);
      pages.push((reply as unknown[]).length);
      return reply;
    };
    const walked = await history.walk(first, alice, () => '9999999999999-0' as StreamId);
    expect(walked?.events.length).toBe(isTooMuch ? undefined : entries);
    expect(Math.max(...pages.slice(1)) * entryBytes).toBeLessThan(1024 * 1024);
    expect(pages.reduce((a, b) => a + b) * entryBytes).toBeLessThan(18e6);
  });

  test('has the events after a cursor while the stream holds what the cursor stands for', async () => {
    const [first, second] = [await publish(), await publish()];
    expect((await walk(first))?.events.map(({ id }) => id)).toEqual([second]);
    expect(lines).toEqual([]);
  });

  // Between a deletion and the moment in which the reader has made the stream anew, its length cannot even be asked for.
  test('proves nothing of a stream that was deleted, and says so', async () => {
    const first = await publish();
    await server.call('DEL', stream);
    expect(await walk(first)).toBeUndefined();
    expect(lines).toEqual(['the stream cannot be read for a resume']);
  });

  test('proves nothing when Redis refuses to be asked, a thousand times in one line', async () => {
    const first = await publish();
    await server.call('ACL', 'SETUSER', 'default', '-xrange');
    for (let count = 0; count < 1000; count += 100) {
      const walks = await Promise.all(Array.from({ length: 100 }, () => walk(first)));
      expect(new Set(walks)).toEqual(new Set([undefined]));
    }
    expect(lines).toEqual(['the stream cannot be read for a resume']);
    await server.call('ACL', 'SETUSER', 'default', '+xrange');
    expect(await walk(first)).toBeDefined();
  });

  test('does not know the last id when Redis refuses to tell, does not keep asking, and knows it once it may', async () => {
    const last = await publish();
    await server.call('ACL', 'SETUSER', 'default', '-xinfo');
    const askedAtMs = performance.now();
    expect(await Promise.all([history.lastId(), history.lastId()])).toEqual([undefined, undefined]);
    expect(performance.now() - askedAtMs).toBeLessThan(500);
    expect(lines).toEqual(['Redis refused a question about the stream']);
    await server.call('ACL', 'SETUSER', 'default', '+xinfo');
    expect(await Promise.all([history.lastId(), history.lastId()])).toEqual([last, last]);
  });
});

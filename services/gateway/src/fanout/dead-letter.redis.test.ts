import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { RedisConnections } from '@event-gateway/redis';
import { type Logger, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stream } from '../../test/reading-replica.js';
import { DeadLetters } from './dead-letter.js';

let server: RedisServer;
let lines: unknown[];
const warn = (fields: object, message: string): void => void lines.push({ ...fields, message });
const logger: Logger = { ...silentLogger, warn, child: () => logger };
const connections: RedisConnections[] = [];
const started: DeadLetters[] = [];

beforeEach(async () => {
  server = await startRedisServer();
  lines = [];
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((letters) => letters.stop()));
  for (const redis of connections.splice(0)) redis.stop();
  await server.stop();
});

async function deadLetters(replicaId: string, deadLetterMaxEntries = 100): Promise<DeadLetters> {
  const redis = new RedisConnections({ url: server.url, commandTimeoutMs: 200 }, systemClock, silentLogger);
  connections.push(redis);
  redis.start();
  await eventually(() => redis.command.isUp);
  const letters = new DeadLetters(redis.command, systemClock, logger, { stream, replicaId, deadLetterMaxEntries });
  started.push(letters);
  return letters;
}

async function written(): Promise<Record<string, string>[]> {
  const rows = (await server.call('XRANGE', `${stream}.dead`, '-', '+')) as [string, string[]][];
  return rows.map(([, fields]) => {
    const letter: Record<string, string> = {};
    for (let index = 0; index < fields.length; index += 2) letter[String(fields[index])] = String(fields[index + 1]);
    return letter;
  });
}

const fields = (...texts: string[]) => texts.map((text) => Buffer.from(text));

describe('dead letters', () => {
  test('an entry that every replica rejects is written once for the fleet', async () => {
    const fleet = await Promise.all(['r1', 'r2', 'r3'].map((id) => deadLetters(id)));
    await Promise.all(fleet.map((letters) => letters.bury('5-1', 'not_json', fields('envelope', '{', 'recipients', '["a"]'))));
    const letters = await written();
    expect(letters).toHaveLength(1);
    expect(letters[0]).toEqual({
      id: '5-1',
      reason: 'not_json',
      replica: expect.stringMatching(/^r[123]$/),
      at_ms: expect.stringMatching(/^\d{13}$/),
      entry: '{"envelope":"{","recipients":"[\\"a\\"]"}',
    });
    expect(Number(await server.call('PTTL', `gateway.dead:${stream}:5-1`))).toBeGreaterThan(3_500_000);
  });

  test('letters of one batch share a round trip, and are written when their promises resolve', async () => {
    const letters = await deadLetters('r1');
    await letters.bury('0-1', 'no_type', fields('envelope', '{}'));
    await server.call('CONFIG', 'RESETSTAT');
    await Promise.all(Array.from({ length: 50 }, (_, index) => letters.bury(`7-${index}`, 'no_type', fields('envelope', '{}'))));
    expect((await written()).map(({ id }) => id)).toEqual(['0-1', ...Array.from({ length: 50 }, (_, index) => `7-${index}`)]);
    expect(Number(/total_reads_processed:(\d+)/.exec(String(await server.call('INFO', 'stats')))?.[1])).toBeLessThan(6);
  });

  test('no more are kept than configured', async () => {
    const letters = await deadLetters('r1', 10);
    for (let index = 0; index < 30; index++) await letters.bury(`8-${index}`, 'oversized', fields('envelope', 'x'));
    expect((await written()).map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, index) => `8-${index + 20}`));
  });

  test('while Redis is away the reader does not wait for them; they are written when it is back', async () => {
    const letters = await deadLetters('r1');
    server.pause();
    const startedAtMs = performance.now();
    await letters.bury('9-1', 'not_object', fields('envelope', '1'));
    expect(performance.now() - startedAtMs).toBeLessThan(1000);
    await letters.bury('9-2', 'not_object', fields('envelope', '2'));
    server.resume();
    await eventually(async () => expect((await written()).map(({ id }) => id)).toEqual(['9-1', '9-2']));
  });

  test('those that still wait when the process stops are dropped with a line in the log', async () => {
    const letters = await deadLetters('r1');
    server.pause();
    await Promise.all(['9-1', '9-2'].map((id) => letters.bury(id, 'not_object', fields('envelope', '1'))));
    await letters.stop();
    server.resume();
    expect(lines).toEqual([{ dropped: 2, message: 'dropped dead letters that waited for Redis' }]);
  });

  // The frames of the batch were out; thrown on, the batch would have been read again, and its frames written again.
  test('what nobody foresaw costs the letters and not the batch that they came with', async () => {
    const failure = new Error('boom');
    const redis = { runScripts: () => Promise.reject(failure) } as unknown as RedisConnections['command'];
    const letters = new DeadLetters(redis, systemClock, logger, { stream, replicaId: 'r1', deadLetterMaxEntries: 10 });
    await letters.bury('9-1', 'not_object', fields('envelope', '1'));
    expect(lines).toEqual([{ error: failure, dropped: 1, message: 'dead letters could not be written' }]);
  });
});

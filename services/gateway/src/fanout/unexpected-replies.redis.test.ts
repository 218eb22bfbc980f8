// A script file of another release, a right that was taken away: Redis answers, and says something that nobody here understands.
import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { keys, LuaScript, type RedisCall, RedisConnections, RedisReplyError } from '@event-gateway/redis';
import { type Logger, Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFencedReplica, type FencedReplica, startFenced } from '../../test/fenced-replica.js';
import { createReadingReplica, endReadingReplicas, killReader, publish, type ReadingReplica, stream } from '../../test/reading-replica.js';
import { Canary } from '../lifecycle/canary.js';
import { CanaryMetrics } from '../lifecycle/canary-metrics.js';

type Spoil = (reply: unknown) => unknown;

let server: RedisServer;
let lines: { readonly message: string; readonly error?: unknown }[];
let commands: RedisConnections;
let canary: Canary;
let replica: ReadingReplica;
/** What the reader is told instead of what Redis replies to that call. */
let spoil: { readonly isMeant: (call: RedisCall) => boolean; readonly reply: Spoil } | undefined;

const take = (fields: object, message: string): void => void lines.push({ message, ...fields });
const logger: Logger = { debug: () => undefined, info: () => undefined, warn: take, error: take, child: () => logger };
const maxDelayMs = 400;

beforeEach(async () => {
  server = await startRedisServer();
  lines = [];
  spoil = undefined;
  commands = new RedisConnections({ url: server.url, commandTimeoutMs: 300 }, systemClock, silentLogger);
  canary = new Canary(commands.command, systemClock, silentLogger, new CanaryMetrics(new Metrics()), {
    replicaId: 'r1',
    intervalMs: 50,
    maxDelayMs,
  });
  replica = createReadingReplica(server, 'r1', { logger, canary });
  spoilReplies(replica.connections);
  for (const connections of [commands, replica.connections]) connections.start();
  canary.start();
});
afterEach(async () => {
  await canary.stop();
  commands.stop();
  await endReadingReplicas();
  await server.stop();
});

function spoilReplies(connections: RedisConnections): void {
  const newReader = connections.newReader.bind(connections);
  connections.newReader = (name) => {
    const reader = newReader(name);
    const run = reader.run.bind(reader);
    reader.run = async (calls, blockMs) => {
      const replies = await run(calls, blockMs);
      return replies.map((reply, index) => {
        const call = calls[index];
        return call !== undefined && spoil?.isMeant(call) === true ? spoil.reply(reply) : reply;
      });
    };
    return reader;
  };
}

function ofScript(path: string): (call: RedisCall) => boolean {
  const { sha, source } = LuaScript.load(new URL(path, import.meta.url));
  return ([command, text]) => (command === 'EVALSHA' && text === sha) || (command === 'EVAL' && text === source);
}

const ofCommand =
  (name: string) =>
  ([command]: RedisCall): boolean =>
    command === name;

async function startReading(): Promise<void> {
  replica.source.start();
  await eventually(() => replica.source.unreadyReasons().length === 0);
}

const ownStream = keys.canary('r1');
const asList = (reply: unknown): unknown[] => (Array.isArray(reply) ? reply : [reply]);
const isNull: Spoil = () => null;
const isShort: Spoil = (reply) => asList(reply).slice(1);
const isLong: Spoil = (reply) => [Buffer.from('2'), ...asList(reply)];
const isNested: Spoil = (reply) => asList(reply).map((element) => [element]);
const isWords: Spoil = (reply) => asList(reply).map(() => Buffer.from('OK'));

const scripts: [string, (call: RedisCall) => boolean][] = [
  ['settle-epoch.lua', ofScript('./stream/scripts/settle-epoch.lua')],
  ['inspect-stream.lua', ofScript('./stream/scripts/inspect-stream.lua')],
  ['continuity-evidence.lua', ofScript('./stream/scripts/continuity-evidence.lua')],
];
const shapes: [string, Spoil][] = [
  ['is nothing', isNull],
  ['is shorter', isShort],
  ['is longer', isLong],
  ['is nested', isNested],
  ['is words', isWords],
];
const cases = scripts.flatMap(([name, isMeant]) => shapes.map(([shape, reply]) => ({ name, shape, isMeant, reply })));

describe('a reader that is told what it does not understand', () => {
  test.each(cases)('says so, is not ready, and goes on without a loss once it understands: $name $shape', async ({ isMeant, reply }) => {
    await startReading();
    await publish(server, ['before']);
    await eventually(() => expect(replica.handler.names).toEqual(['before']));
    spoil = { isMeant, reply };
    await killReader(server, 'r1');
    await publish(server, ['meanwhile']);
    await eventually(() => canary.isLate());
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.at(-1)?.message).toMatch(/^(loop failed, backing off|reading starts over and over)$/);
    spoil = undefined;
    await eventually(() => expect(replica.handler.names).toEqual(['before', 'meanwhile']), { timeoutMs: 10_000 });
    await eventually(() => !canary.isLate());
    expect(replica.handler.gaps).toEqual([]);
  });

  test('is not ready either when its canary went with the data', async () => {
    await startReading();
    await eventually(async () => expect(await server.call('XLEN', ownStream)).toBe(1));
    spoil = { isMeant: ofScript('./stream/scripts/settle-epoch.lua'), reply: isNull };
    await server.call('FLUSHALL');
    await eventually(() => canary.isLate());
    expect(await server.call('EXISTS', ownStream)).toBe(0);
    expect(lines.map(({ message }) => message)).toContain('loop failed, backing off');
    spoil = undefined;
    await eventually(() => !canary.isLate(), { timeoutMs: 10_000 });
    await publish(server, ['after']);
    await eventually(() => expect(replica.handler.names).toEqual(['after']));
  });

  test('does not take a read without an answer for a read that brought nothing', async () => {
    await startReading();
    spoil = { isMeant: ofCommand('XREADGROUP'), reply: () => Buffer.from('OK') };
    await eventually(() => expect(lines.map(({ message }) => message)).toContain('loop failed, backing off'));
    expect(replica.source.unreadyReasons()).toContain('redis');
  });

  test('without a canary of its own says why, instead of looking for its group for ever', async () => {
    const isMeant = ([command, , name]: RedisCall): boolean => command === 'XGROUP' && name === ownStream;
    spoil = { isMeant, reply: () => new RedisReplyError('NOPERM no permission') };
    replica.source.start();
    await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ error: expect.any(RedisReplyError) })));
    expect(replica.source.unreadyReasons()).not.toEqual([]);
  });

  test('whose group is gone at every look says so', async () => {
    await startReading();
    spoil = { isMeant: ofCommand('XREADGROUP'), reply: () => new RedisReplyError('NOGROUP no such key') };
    await eventually(() => expect(lines.map(({ message }) => message)).toContain('reading starts over and over'));
    await eventually(() => canary.isLate());
  });
});

describe('counting a backlog', () => {
  const old = (count: number): Promise<unknown> =>
    server.call('EVAL', "for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], i .. '-1', 'envelope', 'old') end", 1, stream, count);

  test.each([
    ['ack-up-to.lua', isNested],
    ['ack-up-to.lua', isWords],
    ['count-entries.lua', isNull],
    ['count-entries.lua', isWords],
  ])('ends when %s replies what is no number', async (name, reply) => {
    await server.call('XGROUP', 'CREATE', stream, 'gateway-r1', 0, 'MKSTREAM');
    await old(10);
    spoil = { isMeant: ofScript(`./stream/scripts/${name}`), reply };
    replica.source.start();
    await eventually(() => expect(lines.map(({ message }) => message)).toContain('loop failed, backing off'));
    spoil = undefined;
    await eventually(() => replica.source.unreadyReasons().length === 0);
    expect(replica.handler.skippedCount).toBe(10);
  });
});

describe('the fence', () => {
  let fenced: FencedReplica;

  beforeEach(() => {
    fenced = createFencedReplica(server, 'r2', { logger });
    spoilReplies(fenced.connections);
  });
  afterEach(() => fenced.die());

  test('is not held by an answer that nobody understands', async () => {
    startFenced(fenced);
    await eventually(() => fenced.source.unreadyReasons().length === 0);
    spoil = { isMeant: ofScript('../replica/scripts/renew-lease.lua'), reply: () => Buffer.from('OK') };
    await killReader(server, 'r2');
    await eventually(() => expect(lines.map(({ message }) => message)).toContain('loop failed, backing off'));
    expect(fenced.source.unreadyReasons()).toContain('redis');
    expect(fenced.isFencedOut()).toBe(false);
  });

  test.each([
    ['an answer that nobody understands', 'OK', 'loop failed, backing off'],
    ['a lease that is gone at every look', 'absent', 'not admitted to read: the lease is claimed again'],
  ])('admits nobody on %s, and says so', async (_, reply, line) => {
    startFenced(fenced);
    await eventually(() => fenced.source.unreadyReasons().length === 0);
    spoil = { isMeant: ofScript('../replica/scripts/register-reader.lua'), reply: () => Buffer.from(reply) };
    await killReader(server, 'r2');
    await eventually(() => expect(lines.map(({ message }) => message)).toContain(line));
    expect(fenced.source.unreadyReasons()).toContain('redis');
    spoil = undefined;
    await eventually(() => fenced.source.unreadyReasons().length === 0);
  });

  test('that is not confirmed in time stops the reader with a word', async () => {
    startFenced(fenced);
    await eventually(() => fenced.source.unreadyReasons().length === 0);
    await fenced.registry.stop();
    await eventually(() =>
      expect(lines.map(({ message }) => message)).toContain('the lease is not confirmed: nothing is read until it is'),
    );
  });
});

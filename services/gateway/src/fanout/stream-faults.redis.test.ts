import { eventually, type RedisServer, SeededRandom, startRedisServer } from '@event-gateway/fleet';
import type { StreamId } from '@event-gateway/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findRepetitions, findSilentLosses, type Published, type TimedEvent } from '../../test/loss-checker.js';
import { endReadingReplicas, killReader, type ReadingReplica, startReadingReplica, stream } from '../../test/reading-replica.js';

let server: RedisServer;

beforeEach(async () => {
  server = await startRedisServer();
});
afterEach(async () => {
  await endReadingReplicas();
  await server.stop();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Fault = (replicas: readonly ReadingReplica[], random: SeededRandom) => Promise<unknown>;

const harmless: Record<string, Fault> = {
  'cut a reader': (_, random) => killReader(server, random.pick(['r1', 'r2'])),
  'cut everybody': () => server.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  'destroy a group': (_, random) => server.call('XGROUP', 'DESTROY', stream, random.pick(['gateway-r1', 'gateway-r2'])),
  'a short pause of Redis': async (_, random) => {
    server.pause();
    await sleep(random.next() * 100);
    server.resume();
  },
  'a long pause of Redis': async () => {
    server.pause();
    await sleep(900);
    server.resume();
  },
  'a slow handler': async (replicas, random) => {
    const { handler } = random.pick(replicas);
    handler.hold();
    await sleep(random.next() * 150);
    handler.release();
  },
};

const lossy: Record<string, Fault> = {
  'trim nearly everything': (_, random) => server.call('XTRIM', stream, 'MAXLEN', random.integer(0, 2)),
  'trim behind a slow handler': async (replicas, random) => {
    for (const { handler } of replicas) handler.hold();
    await sleep(random.next() * 100);
    await server.call('XTRIM', stream, 'MAXLEN', random.integer(0, 2));
    for (const { handler } of replicas) handler.release();
  },
  'delete the stream': () => server.call('DEL', stream),
  'flush everything': () => server.call('FLUSHALL'),
  save: () => server.call('SAVE'),
  'restart from the last save': () => server.restart({ keepData: true }),
  'restart with nothing': () => server.restart({ keepData: false }),
};

async function runSchedule(
  seed: number,
  faults: Record<string, Fault>,
): Promise<{ complaints: string[]; gaps: number; schedule: string[] }> {
  const random = new SeededRandom(seed);
  const replicas = [await startReadingReplica(server, 'r1'), await startReadingReplica(server, 'r2')];
  const stories = new Map<ReadingReplica, TimedEvent[]>(replicas.map((replica) => [replica, watch(replica)]));
  const published: Published[] = [];
  let isPublishing = true;
  let count = 0;
  const publishing = (async () => {
    while (isPublishing) {
      const name = `e${count++}`;
      const sentAtMs = performance.now();
      const id = await server.call('XADD', stream, '*', 'envelope', name).catch(() => undefined);
      if (typeof id === 'string') published.push({ id: id as StreamId, name, sentAtMs, addedAtMs: performance.now() });
      await sleep(2);
    }
  })();
  const names = Object.keys(faults);
  const schedule: string[] = [];
  for (let step = 0; step < 8; step++) {
    await sleep(50 + random.next() * 250);
    const name = random.pick(names);
    schedule.push(name);
    await faults[name]?.(replicas, random)?.catch(() => undefined);
  }
  isPublishing = false;
  await publishing;
  await eventually(() => replicas.every(({ source }) => source.unreadyReasons().length === 0), { timeoutMs: 5000 });
  await sleep(1200); // a change of epoch is noticed within a second
  await server.call('XADD', stream, '*', 'envelope', 'end');
  for (const { handler } of replicas) await eventually(() => expect(handler.names.at(-1)).toBe('end'), { timeoutMs: 5000 });
  const complaints = replicas.flatMap((replica) => {
    const story = stories.get(replica) ?? [];
    return [...findSilentLosses(published, story), ...findRepetitions(story).filter(() => faults === harmless)];
  });
  expect(published.length).toBeGreaterThan(100);
  return { complaints, gaps: replicas.reduce((sum, { handler }) => sum + handler.gaps.length, 0), schedule };
}

/** The handler's events with the time at which they came. */
function watch({ handler }: ReadingReplica): TimedEvent[] {
  const story: TimedEvent[] = [];
  const push = handler.events.push.bind(handler.events);
  handler.events.push = (...events) => {
    for (const event of events) story.push({ ...event, atMs: performance.now() });
    return push(...events);
  };
  return story;
}

describe('random faults', () => {
  test.each([1, 2])('that lose nothing: everything comes exactly once, in order, and nobody is told a gap (seed %i)', async (seed) => {
    const { complaints, gaps, schedule } = await runSchedule(seed, harmless);
    expect({ complaints, gaps, schedule }).toEqual({ complaints: [], gaps: 0, schedule });
  });

  test.each([11, 12, 13, 14, 15])('that lose data: nothing is lost in silence (seed %i)', async (seed) => {
    const { complaints, schedule } = await runSchedule(seed, { ...harmless, ...lossy });
    expect({ complaints, schedule }).toEqual({ complaints: [], schedule });
  });
});

describe('the checker', () => {
  const published = [
    { id: '5-1' as StreamId, name: 'a', sentAtMs: 10, addedAtMs: 11 },
    { id: '6-1' as StreamId, name: 'b', sentAtMs: 12, addedAtMs: 13 },
  ];
  const gap = (atMs: number): TimedEvent => ({ kind: 'gap', gap: { reason: 'gap', cursor: '5-0' as StreamId, isDataLost: true }, atMs });
  const b: TimedEvent = { kind: 'entry', id: '6-1' as StreamId, name: 'b', atMs: 30 };

  test('complains about an entry that neither came nor was covered by a gap in its place', () => {
    const complaint = ['a (5-1) was lost in silence'];
    expect(findSilentLosses(published, [b])).toEqual(complaint);
    expect(findSilentLosses(published, [gap(5), b])).toEqual(complaint);
    expect(findSilentLosses(published, [b, gap(40)])).toEqual(complaint);
    expect(findSilentLosses(published, [gap(20), b])).toEqual([]);
  });

  test('complains about what comes twice or backwards', () => {
    const entry = (id: string, name: string): TimedEvent => ({ kind: 'entry', id: id as StreamId, name, atMs: 0 });
    expect(findRepetitions([entry('5-1', 'a'), entry('5-1', 'a')])).toEqual(['a came out of order', 'a came twice']);
    expect(findRepetitions([entry('5-1', 'a'), entry('5-2', 'b')])).toEqual([]);
  });
});

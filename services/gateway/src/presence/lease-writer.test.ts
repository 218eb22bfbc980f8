import { FakeClock, Metrics, silentLogger } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import type { LeaseOutcome, LeaseResult, LeaseState } from './lease-store.js';
import { LeaseWriter } from './lease-writer.js';
import { PresenceMetrics } from './presence-metrics.js';
import { user } from './test/test-hub.js';

const options = { leaseTtlMs: 60_000, renewMs: 20_000, commandTimeoutMs: 1000 };

/** Takes writes as Redis would; every trip is remembered with its time. */
class FakeSink {
  readonly trips: { readonly atMs: number; readonly states: readonly LeaseState[] }[] = [];
  latencyMs = 1;
  outcome: (state: LeaseState) => LeaseOutcome = () => 'held';
  inFlight = 0;
  maxInFlight = 0;

  async write(states: readonly LeaseState[]): Promise<LeaseResult[]> {
    this.trips.push({ atMs: clock.nowMs(), states });
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
    await clock.sleep(this.latencyMs);
    this.inFlight--;
    return states.map((state) => ({ outcome: this.outcome(state), confirmedMs: 1_000_000 + clock.nowMs() - state.activeAgeMs }));
  }

  of(id: string): LeaseState[] {
    return this.trips.flatMap(({ states }) => states.filter(({ userId }) => userId === id));
  }

  timesOf(id: string): number[] {
    return this.trips.flatMap(({ atMs, states }) => (states.some(({ userId }) => userId === id) ? [atMs] : []));
  }
}

let clock: FakeClock;
let sink: FakeSink;
let metrics: Metrics;
let writer: LeaseWriter;
let random: () => number;
const a = user('a');

beforeEach(() => {
  clock = new FakeClock();
  sink = new FakeSink();
  metrics = new Metrics();
  random = () => 0.5;
  const deps = { sink, metrics: new PresenceMetrics(metrics), clock, logger: silentLogger, random: () => random() };
  writer = new LeaseWriter(deps, options);
  writer.start();
});

async function metric(series: string): Promise<number> {
  const line = (await metrics.text()).split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.split(' ').pop());
}

/** The user answers pings. */
async function liveFor(ms: number, everyMs: number, ...ids: (typeof a)[]): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += everyMs) {
    await clock.advance(everyMs);
    for (const id of ids) writer.active(id);
  }
}

describe('what is written', () => {
  test('a connect is written at once, whatever was written before', async () => {
    writer.join(a);
    await clock.advance(0);
    expect(sink.of('a')).toEqual([{ userId: 'a', activeAgeMs: 0, leftAgeMs: undefined, confirmedMs: 0 }]);
    writer.leave(a);
    await clock.advance(200);
    writer.join(a);
    await clock.advance(150);
    expect(sink.of('a').map(({ leftAgeMs }) => leftAgeMs)).toEqual([undefined, expect.any(Number), undefined]);
  });

  test('a renewal carries the last sign of life, not the time of the write', async () => {
    random = () => 0;
    writer.join(a);
    await clock.advance(5000); // the first slot of the wheel has passed without a sign of life
    writer.active(a);
    await clock.advance(3000);
    writer.active(a);
    await clock.advance(options.renewMs);
    const [, second, third] = sink.of('a');
    expect(second?.activeAgeMs).toBe(0);
    // The sign of life at 8 s, written when the period was over.
    expect(third?.activeAgeMs).toBe((sink.timesOf('a')[2] ?? 0) - 8000);
  });

  test('however often a user is active, his lease is renewed once per period', async () => {
    writer.join(a);
    await liveFor(200_000, 250, a);
    const times = sink.timesOf('a').slice(1);
    for (const [i, atMs] of times.slice(1).entries()) expect(atMs - (times[i] ?? 0)).toBeGreaterThanOrEqual(options.renewMs);
    expect(times.length).toBeGreaterThanOrEqual(9);
  });

  test('the first renewals of a surge are spread over the period', async () => {
    random = Math.random;
    const users = Array.from({ length: 1000 }, (_, i) => user(`u${i}`));
    for (const id of users) writer.join(id);
    await liveFor(options.renewMs + 1000, 1000, ...users);
    const perSecond = new Array(22).fill(0);
    for (const { atMs, states } of sink.trips) if (atMs > 700) perSecond[Math.floor(atMs / 1000)] += states.length;
    expect(Math.max(...perSecond)).toBeLessThan(150);
  });

  test('a silent user is not renewed', async () => {
    writer.join(a);
    await clock.advance(200_000);
    expect(sink.of('a')).toHaveLength(1);
  });

  test('renew then close is one write with the last wish', async () => {
    writer.join(a);
    await clock.advance(50_000);
    writer.active(a);
    writer.leave(a);
    await clock.advance(0);
    expect(sink.of('a').slice(1)).toEqual([{ userId: 'a', activeAgeMs: 0, leftAgeMs: 0, confirmedMs: expect.any(Number) }]);
    await clock.advance(60_000);
    expect(sink.of('a')).toHaveLength(2);
  });

  test('close then reconnect while the close is being written: the last wish is the last write, and renewals go on', async () => {
    writer.join(a);
    await clock.advance(1000);
    sink.latencyMs = 500;
    writer.leave(a);
    await clock.advance(200);
    expect(sink.inFlight).toBe(1);
    writer.join(a);
    await clock.advance(2000);
    expect(sink.of('a').map(({ leftAgeMs }) => leftAgeMs)).toEqual([undefined, 0, undefined]);
    await liveFor(3 * options.renewMs, 1000, a);
    expect(sink.of('a').length).toBeGreaterThan(4);
    expect(writer.count).toBe(1);
  });

  test('the grace counts from the close, however late it is written', async () => {
    writer.join(a);
    await clock.advance(1000);
    sink.outcome = () => 'unanswered';
    writer.leave(a);
    await clock.advance(7000);
    sink.outcome = () => 'held';
    await clock.advance(3000);
    const last = sink.trips.at(-1);
    expect(last?.states[0]?.leftAgeMs).toBe((last?.atMs ?? 0) - 1000);
  });

  test('nobody’s sign of life and a stranger’s close are nothing', async () => {
    writer.active(a);
    writer.leave(a);
    await clock.advance(1000);
    expect(sink.trips).toEqual([]);
  });
});

describe('round trips', () => {
  test('ten thousand connects are eleven, one at a time', async () => {
    sink.latencyMs = 20;
    for (let i = 0; i < 10_000; i++) writer.join(user(`u${i}`));
    await clock.advance(3000);
    expect(sink.trips.length).toBeLessThanOrEqual(11);
    expect(new Set(sink.trips.flatMap(({ states }) => states.map(({ userId }) => userId))).size).toBe(10_000);
    expect(sink.maxInFlight).toBe(1);
  });

  test('a surge of a thousand a second is about ten a second', async () => {
    for (let i = 0; i < 10_000; i++) {
      writer.join(user(`u${i}`));
      await clock.advance(1);
    }
    expect(sink.trips.length).toBeLessThanOrEqual(120);
  });

  test('a few who come one after the other are not kept waiting for each other', async () => {
    for (let i = 0; i < 50; i++) {
      writer.join(user(`u${i}`));
      await clock.advance(2);
    }
    await clock.advance(20);
    expect(new Set(sink.trips.flatMap(({ states }) => states.map(({ userId }) => userId))).size).toBe(50);
  });

  test('comings and goings go before renewals', async () => {
    const users = Array.from({ length: 3000 }, (_, i) => user(`u${i}`));
    for (const id of users) writer.join(id);
    await clock.advance(5000);
    writer.rewriteAll();
    writer.join(a);
    await clock.advance(600);
    const first = sink.trips.find(({ states }) => states.some(({ userId }) => userId === 'a'));
    expect(first?.atMs).toBeLessThanOrEqual(5000 + 500 + 10);
  });

  test('a reconnect while the close is being written goes before renewals too', async () => {
    writer.join(a);
    for (let i = 0; i < 5000; i++) writer.join(user(`u${i}`));
    await clock.advance(5000);
    sink.latencyMs = 300;
    const before = sink.trips.length;
    writer.rewriteAll();
    await clock.advance(400);
    writer.leave(a);
    await clock.advance(400);
    expect(sink.trips).toHaveLength(before + 2);
    writer.join(a);
    await clock.advance(400);
    const [, second, third] = sink.trips.slice(before);
    expect([second, third].map((trip) => trip?.states[0]?.userId)).toEqual(['a', 'a']);
  });
});

describe('without Redis', () => {
  test('what failed is tried again with the wish of then, not before the failed one is out of date', async () => {
    sink.outcome = () => 'unanswered';
    writer.join(a);
    await clock.advance(300);
    writer.leave(a);
    await clock.advance(699);
    expect(sink.trips).toHaveLength(1);
    sink.outcome = () => 'held';
    await clock.advance(3000);
    expect(sink.of('a').at(-1)?.leftAgeMs).toBeGreaterThan(0);
    expect(await metric('gateway_presence_renewals_total{outcome="failed"}')).toBe(1);
    expect(await metric('gateway_presence_renewals_total{outcome="released"}')).toBe(1);
  });

  // A queue of commands that was full for a moment, or a connection that was not there yet, kept every lease back for a second.
  test('what was never sent is tried again as soon as the back-off allows', async () => {
    sink.outcome = () => 'rejected';
    writer.join(a);
    await clock.advance(5);
    sink.outcome = () => 'held';
    await clock.advance(options.commandTimeoutMs / 2);
    expect(sink.trips).toHaveLength(2);
    expect(await metric('gateway_presence_renewals_total{outcome="failed"}')).toBe(1);
  });

  test('a flush of which one part has no answer waits for that, whatever became of the rest', async () => {
    sink.outcome = ({ userId }) => (userId === 'a' ? 'unanswered' : 'rejected');
    for (const id of ['b', 'a', 'c']) writer.join(user(id));
    await clock.advance(options.commandTimeoutMs - 1);
    expect(sink.trips).toHaveLength(1);
  });

  test('who came and went during a long outage is forgotten: memory is bounded by a lease', async () => {
    sink.outcome = () => 'unanswered';
    for (let i = 0; i < 600; i++) {
      writer.join(user(`u${i}`));
      await clock.advance(200);
      writer.leave(user(`u${i}`));
    }
    expect(writer.pendingCount).toBeLessThanOrEqual(options.leaseTtlMs / 200 + 20);
    await clock.advance(options.leaseTtlMs + 5000);
    expect(writer.pendingCount).toBe(0);
  });

  test('a connect that could not be written is tried again without another word from its user', async () => {
    sink.outcome = () => 'unanswered';
    writer.join(a);
    await clock.advance(2500);
    const tries = sink.trips.length;
    expect(tries).toBeGreaterThan(1);
    sink.outcome = () => 'held';
    await clock.advance(3000);
    expect(sink.trips).toHaveLength(tries + 1);
  });

  test('those who are forgotten do not wait for their turn behind those who are here', async () => {
    sink.outcome = () => 'unanswered';
    for (let i = 0; i < 3000; i++) writer.join(user(`gone${i}`));
    for (let i = 0; i < 3000; i++) writer.leave(user(`gone${i}`));
    await clock.advance(50_000);
    for (let i = 0; i < 5000; i++) writer.join(user(`here${i}`));
    await clock.advance(13_000);
    expect(writer.pendingCount).toBe(5000);
  });

  test('its return ends the back-off, but not before the failed write is out of date', async () => {
    random = () => 1;
    sink.outcome = () => 'unanswered';
    writer.join(a);
    for (let i = 0; i < 10; i++) await clock.advance(1000);
    const tries = sink.trips.length;
    while (sink.trips.length === tries) await clock.advance(10);
    const failedMs = sink.trips.at(-1)?.atMs ?? 0;
    await clock.advance(600);
    sink.outcome = () => 'held';
    random = () => 0;
    writer.rewriteAll();
    await clock.advance(2000);
    expect(sink.trips.at(-1)?.atMs).toBe(failedMs + options.commandTimeoutMs);
  });

  test('on its return all leases are written anew, in chunks, and what was confirmed goes along', async () => {
    for (let i = 0; i < 2500; i++) writer.join(user(`u${i}`));
    await clock.advance(1000);
    const before = sink.trips.length;
    writer.rewriteAll();
    await clock.advance(2000);
    const trips = sink.trips.slice(before);
    expect(trips.map(({ states }) => states.length)).toEqual([1000, 1000, 500]);
    expect(trips.every(({ states }) => states.every(({ confirmedMs }) => confirmedMs > 0))).toBe(true);
  });
});

describe('the end', () => {
  test('a drain gives every lease to the grace, without waiting between round trips', async () => {
    for (let i = 0; i < 2500; i++) writer.join(user(`u${i}`));
    await clock.advance(1000);
    const before = sink.trips.length;
    void writer.drain(5000);
    await clock.advance(20);
    const states = sink.trips.slice(before).flatMap((trip) => trip.states);
    expect(states).toHaveLength(2500);
    expect(states.every(({ leftAgeMs }) => leftAgeMs !== undefined)).toBe(true);
    expect(await metric('gateway_presence_leases')).toBe(0);
  });

  test('a drain ends when Redis does not take it: leases run out by themselves', async () => {
    writer.join(a);
    await clock.advance(1000);
    sink.outcome = () => 'unanswered';
    let isDrained = false;
    void writer.drain(5000).then(() => {
      isDrained = true;
    });
    await clock.advance(20);
    expect(isDrained).toBe(true);
  });

  test('stopped, it writes nothing any more', async () => {
    writer.join(a);
    await clock.advance(1000);
    writer.stop();
    writer.leave(a);
    await clock.advance(100_000);
    expect(sink.trips).toHaveLength(1);
    expect(clock.pendingCount).toBe(0);
  });
});

test('what a write under way at the stop brought is not concluded from', async () => {
  let restored = 0;
  writer.onRestored(() => restored++);
  sink.outcome = () => 'restored';
  sink.latencyMs = 100;
  writer.join(a);
  await clock.advance(50);
  writer.stop();
  await clock.advance(1000);
  expect(restored).toBe(0);
});

describe('figures', () => {
  test('leases are counted by user, writes by outcome', async () => {
    sink.outcome = ({ userId }) => (userId === 'lost' ? 'restored' : userId === 'a' ? 'online' : 'held');
    let restored = 0;
    writer.onRestored(() => restored++);
    for (const id of ['a', 'b', 'lost']) writer.join(user(id));
    await clock.advance(1000);
    writer.leave(user('b'));
    await liveFor(30_000, 1000, a);
    expect(await metric('gateway_presence_leases')).toBe(2);
    expect(await metric('gateway_presence_transitions_total{to="online"}')).toBeGreaterThan(0);
    const outcomes = ['connected', 'renewed', 'released', 'restored'];
    const counts = await Promise.all(outcomes.map((outcome) => metric(`gateway_presence_renewals_total{outcome="${outcome}"}`)));
    expect(counts).toEqual([2, expect.any(Number), 1, 1]);
    expect(counts[1]).toBeGreaterThan(0);
    expect(restored).toBe(1);
  });
});

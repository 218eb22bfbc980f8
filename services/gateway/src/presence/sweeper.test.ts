import { FakeClock, Metrics, silentLogger } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import type { SweepClaim } from './lease-store.js';
import { PresenceMetrics } from './presence-metrics.js';
import { Sweeper } from './sweeper.js';

const epochMs = 1_767_225_600_000;

let clock: FakeClock;
let metrics: Metrics;
let claims: number[];
let expired: number[];
let lost: number;
let sweeper: Sweeper;
let create: (sweepMs: number) => void;
let nextClaim: () => SweepClaim | undefined;
let expire: (claim: SweepClaim) => number | undefined;

beforeEach(() => {
  clock = new FakeClock();
  metrics = new Metrics();
  claims = [];
  expired = [];
  lost = 0;
  nextClaim = () => claim();
  expire = ({ users }) => users.length;
  const source = {
    claimSweep: async (claimMs: number) => {
      claims.push(claimMs);
      return nextClaim();
    },
    expire: async (of: SweepClaim) => {
      expired.push(of.users.length);
      return expire(of);
    },
  };
  const deps = { source, metrics: new PresenceMetrics(metrics), clock, logger: silentLogger, random: () => 0.5 };
  create = (sweepMs) => {
    sweeper = new Sweeper(deps, { sweepMs });
    sweeper.onLost(() => lost++);
  };
  create(1000);
});

/** What Redis says now; swept a second ago by somebody else, nobody to expire. */
function claim(fields: Partial<SweepClaim> = {}): SweepClaim {
  const nowMs = epochMs + clock.nowMs();
  return { nowMs, sweptBeforeMs: nowMs - 1000, sweptMs: nowMs, onlineCount: 5, users: [], ...fields };
}

async function metric(series: string): Promise<number | undefined> {
  const line = (await metrics.text()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').pop());
}

test('every replica asks once per sweep, and is refused for half of one after another has swept', async () => {
  sweeper.start();
  await clock.advance(10_000);
  expect(claims).toHaveLength(11);
  expect(new Set(claims)).toEqual(new Set([500]));
  expect(expired).toEqual([]);
});

// With a sweep of a minute an idle replica heard of Redis once a minute: a single failure was an outage, for a minute.
test('asks every second for a sweep that is due less often, so that it knows whether Redis is there', async () => {
  create(60_000);
  sweeper.start();
  await clock.advance(10_000);
  expect(claims).toHaveLength(11);
  expect(new Set(claims)).toEqual(new Set([59_500]));
});

test('a mass of expired leases is worked off at once, page by page', async () => {
  const pages = [1000, 1000, 300, 0];
  nextClaim = () => claim({ users: Array.from({ length: pages.shift() ?? 0 }, (_, i) => `u${i}`) });
  sweeper.start();
  await clock.advance(0);
  expect(expired).toEqual([1000, 1000, 300]);
  expect(claims).toEqual([500, 0, 0, 0]);
  expect(await metric('gateway_presence_transitions_total{to="offline"}')).toBe(2300);
});

test('a page of which nobody went is not asked for again at once', async () => {
  sweeper.start();
  await clock.advance(0);
  nextClaim = () => claim({ users: ['a'] });
  for (const gone of [0, undefined]) {
    claims.length = 0;
    expire = () => gone;
    await clock.advance(1000);
    expect(claims).toHaveLength(1);
  }
});

test('a Redis that knows of no sweep, or only of an older one, has forgotten something', async () => {
  sweeper.start();
  await clock.advance(3000);
  expect(lost).toBe(0);
  nextClaim = () => claim({ sweptBeforeMs: undefined });
  await clock.advance(1000);
  expect(lost).toBe(1);
  nextClaim = () => claim({ sweptBeforeMs: epochMs + 1000 });
  await clock.advance(1000);
  expect(lost).toBe(2);
});

test('a first look at an empty Redis is no loss', async () => {
  nextClaim = () => claim({ sweptBeforeMs: undefined });
  sweeper.start();
  await clock.advance(0);
  expect(claims).toHaveLength(1);
  expect(lost).toBe(0);
});

test('the number of users online is on the page while Redis answers, and absent while it does not', async () => {
  sweeper.start();
  await clock.advance(1000);
  expect(await metric('gateway_presence_online')).toBe(5);
  nextClaim = () => undefined;
  await clock.advance(1000);
  expect(await metric('gateway_presence_online')).toBeUndefined();
});

test('stopped, it asks no more, not even for the next page', async () => {
  nextClaim = () => claim({ users: ['a'] });
  expire = () => {
    sweeper.stop();
    return 1;
  };
  sweeper.start();
  await clock.advance(5000);
  expect(claims.length).toBeLessThanOrEqual(2);
  expect(expired).toHaveLength(1);
  expect(clock.pendingCount).toBe(0);
});

import { UPGRADE_REFUSAL_STATUS } from '@event-gateway/protocol';
import { FakeClock, Metrics } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { Admission, type AdmissionOptions, type Place } from './admission.js';
import { HandshakeMetrics } from './handshake-metrics.js';
import type { Refusal } from './refusal.js';
import { RefusedQueue } from './retry-after.js';

interface State {
  isDraining: boolean;
  hasBeenReady: boolean;
  connectionCount: number;
  isLagging: boolean;
}

let clock: FakeClock;
let state: State;
beforeEach(() => {
  clock = new FakeClock();
  state = { isDraining: false, hasBeenReady: true, connectionCount: 0, isLagging: false };
});

function admission(options: Partial<AdmissionOptions> = {}): Admission {
  return new Admission(
    {
      clock,
      isDraining: () => state.isDraining,
      hasBeenReady: () => state.hasBeenReady,
      connectionCount: () => state.connectionCount,
      isLagging: () => state.isLagging,
    },
    { maxConnections: 1000, upgradesPerSecond: 500, upgradesBurst: 1000, allowedOrigins: undefined, ...options },
  );
}

function codeOf(answer: Place | Refusal): string {
  return 'code' in answer ? answer.code : 'admitted';
}

function placeOf(answer: Place | Refusal): Place {
  if ('code' in answer) throw new Error(answer.code);
  return answer;
}

describe('the order of refusals', () => {
  test('draining, not_ready, replica_full, rate_limited, then the origin', () => {
    Object.assign(state, { isDraining: true, hasBeenReady: false, connectionCount: 1000, isLagging: true });
    const door = admission({ allowedOrigins: ['https://app.test'] });
    const next = (): string => codeOf(door.reserve('https://evil.test'));
    expect(next()).toBe('draining');
    state.isDraining = false;
    expect(next()).toBe('not_ready');
    state.hasBeenReady = true;
    expect(next()).toBe('replica_full');
    state.connectionCount = 0;
    expect(next()).toBe('rate_limited');
    state.isLagging = false;
    expect(next()).toBe('origin_forbidden');
  });

  test('every 503 says when to come back, in whole seconds from 1', () => {
    const door = admission({ upgradesBurst: 1 });
    const faults: Partial<State>[] = [{ isDraining: true }, { hasBeenReady: false }, { connectionCount: 1000 }, { isLagging: true }];
    for (const fault of faults) {
      const before = { ...state };
      Object.assign(state, fault);
      const answer = door.reserve(undefined);
      Object.assign(state, before);
      expect(answer).toMatchObject({ status: 503 });
      expect([1, 2, 3, 4, 5]).toContain('retryAfterS' in answer ? answer.retryAfterS : undefined);
    }
  });

  test('those who are refused for want of room or readiness take nothing from the rate', () => {
    const door = admission({ upgradesBurst: 1 });
    state.connectionCount = 1000;
    for (let i = 0; i < 10; i++) door.reserve(undefined);
    state.connectionCount = 0;
    expect(codeOf(door.reserve(undefined))).toBe('admitted');
  });
});

describe('room', () => {
  test('of 45 simultaneous upgrades with a cap of 30 exactly 30 get in', () => {
    const door = admission({ maxConnections: 30 });
    const answers = Array.from({ length: 45 }, () => codeOf(door.reserve(undefined)));
    expect(answers.filter((code) => code === 'admitted')).toHaveLength(30);
    expect(answers.filter((code) => code === 'replica_full')).toHaveLength(15);
  });

  test('a place that became a connection counts once', () => {
    const door = admission({ maxConnections: 2 });
    const place = placeOf(door.reserve(undefined));
    state.connectionCount++;
    place.release();
    expect(codeOf(door.reserve(undefined))).toBe('admitted');
    expect(codeOf(door.reserve(undefined))).toBe('replica_full');
  });

  test('a place that came to nothing makes room, once', () => {
    const door = admission({ maxConnections: 1 });
    const place = placeOf(door.reserve(undefined));
    place.release();
    place.release();
    expect(codeOf(door.reserve(undefined))).toBe('admitted');
    expect(codeOf(door.reserve(undefined))).toBe('replica_full');
  });
});

describe('rate', () => {
  test('a rush is cut to the burst, and then to the rate', async () => {
    const door = admission({ upgradesPerSecond: 20, upgradesBurst: 30 });
    const admitted = (): number =>
      Array.from({ length: 100 }, () => codeOf(door.reserve(undefined))).filter((c) => c === 'admitted').length;
    expect(admitted()).toBe(30);
    await clock.advance(1000);
    expect(admitted()).toBe(20);
  });

  test('Retry-After spreads a storm over the time that it takes to accept it', () => {
    const door = admission({ upgradesPerSecond: 500, upgradesBurst: 1000, maxConnections: 20_000 });
    const seconds: number[] = [];
    for (let i = 0; i < 6000; i++) {
      const answer = door.reserve(undefined);
      if ('code' in answer) seconds.push(Number(answer.retryAfterS));
    }
    expect(seconds).toHaveLength(5000);
    const perSecond = Array.from({ length: 14 }, (_, s) => seconds.filter((value) => value === s).length);
    expect(Math.max(...perSecond)).toBeLessThan(650); // about the rate: what comes back is accepted
    expect(Math.max(...seconds)).toBeLessThanOrEqual(13);
  });
});

describe('RefusedQueue', () => {
  test('one that is refused alone comes back soon, and not always at the same time', () => {
    const turns = [0, 0.4, 0.6, 0.99].map((random) => new RefusedQueue(500, clock, () => random).nextRetryAfterS());
    expect(turns).toEqual([1, 1, 2, 2]);
  });

  test('is forgotten at the accept rate', async () => {
    const queue = new RefusedQueue(10, clock, () => 0);
    for (let i = 0; i < 100; i++) queue.nextRetryAfterS();
    expect(queue.nextRetryAfterS()).toBe(11);
    await clock.advance(5000);
    expect(queue.nextRetryAfterS()).toBe(6);
    await clock.advance(60_000);
    expect(queue.nextRetryAfterS()).toBe(1);
  });

  test('never sends anybody away for more than 30 s, and then spreads over all of them', () => {
    const queue = new RefusedQueue(1, clock, Math.random);
    const turns = Array.from({ length: 5000 }, () => queue.nextRetryAfterS()).slice(100);
    expect(Math.max(...turns)).toBe(30);
    expect(new Set(turns).size).toBe(30);
  });
});

describe('origin', () => {
  const allowedOrigins = ['https://app.test', 'https://b.test'];

  test.each([undefined, '', 'https://app.test', 'https://b.test'])('%j may connect', (origin) => {
    expect(codeOf(admission({ allowedOrigins }).reserve(origin))).toBe('admitted');
  });

  test.each([
    'https://evil.test',
    'https://app.test.evil.test',
    'http://app.test',
    'https://app.test:444',
    'https://APP.test',
    'null',
    'https://app.test/',
  ])('%j may not', (origin) =>
    expect(admission({ allowedOrigins }).reserve(origin)).toMatchObject({ status: 403, code: 'origin_forbidden' }),
  );

  test('any origin when none is configured', () => {
    expect(codeOf(admission().reserve('https://evil.test'))).toBe('admitted');
  });

  test('a forbidden one holds no place', () => {
    const door = admission({ allowedOrigins, maxConnections: 1 });
    door.reserve('https://evil.test');
    expect(codeOf(door.reserve(undefined))).toBe('admitted');
  });
});

test('refusals are counted by code, every code from the start', async () => {
  const metrics = new Metrics();
  const handshake = new HandshakeMetrics(metrics);
  handshake.refused('token_invalid');
  const page = await metrics.text();
  for (const code of Object.keys(UPGRADE_REFUSAL_STATUS)) {
    expect(page).toContain(`gateway_upgrades_refused_total{reason="${code}"} ${code === 'token_invalid' ? 1 : 0}`);
  }
});

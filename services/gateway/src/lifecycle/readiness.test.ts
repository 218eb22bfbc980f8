import { FakeClock } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { Readiness } from './readiness.js';

const fine = {
  isJwksLoaded: true,
  isFenced: false,
  isFencedOut: false,
  hasBacklog: false,
  isReading: true,
  isCanaryLate: false,
  isRedisUp: true,
  isSubscriberUp: true,
  isCutOff: false,
  isDraining: false,
};

let state: Record<keyof typeof fine, boolean>;
let clock: FakeClock;
let readiness: Readiness;
beforeEach(() => {
  state = { ...fine };
  clock = new FakeClock();
  readiness = new Readiness(clock, {
    isJwksLoaded: () => state.isJwksLoaded,
    isFencedOut: () => state.isFencedOut,
    sourceReasons: () => {
      const { isFenced, hasBacklog, isReading } = state;
      const reasons = { fence: isFenced, backlog: hasBacklog, redis: !isReading };
      return (['fence', 'backlog', 'redis'] as const).filter((reason) => reasons[reason]);
    },
    isCanaryLate: () => state.isCanaryLate,
    isRedisUp: () => state.isRedisUp,
    isSubscriberUp: () => state.isSubscriberUp,
    isCutOff: () => state.isCutOff,
    isDraining: () => state.isDraining,
  });
});

describe('before it has been ready', () => {
  test('everything that is missing is told, in a fixed order', () => {
    state = { ...fine, isJwksLoaded: false, isFenced: true, hasBacklog: true, isCanaryLate: true, isRedisUp: false, isDraining: true };
    expect(readiness.report()).toEqual({ ready: false, reasons: ['jwks', 'fence', 'backlog', 'canary', 'redis', 'draining'] });
    expect(readiness.hasBeenReady).toBe(false);
  });

  test.each([
    ['jwks', { isJwksLoaded: false }],
    ['fence', { isFenced: true }],
    ['backlog', { hasBacklog: true }],
    ['canary', { isCanaryLate: true }],
    ['redis', { isRedisUp: false }],
    ['redis', { isSubscriberUp: false }],
    ['redis', { isReading: false }],
    ['draining', { isDraining: true }],
  ])('%s alone keeps it from being ready', (reason, fault) => {
    Object.assign(state, fault);
    expect(readiness.report()).toEqual({ ready: false, reasons: [reason] });
  });

  test('behind a fence nothing is read, and the fence is why', () => {
    Object.assign(state, { isFenced: true, isReading: false });
    expect(readiness.report()).toEqual({ ready: false, reasons: ['fence'] });
  });

  // Nobody had asked while all was well; then Redis died, and every socket was refused as if there had never been one.
  test('it becomes ready without anybody asking', async () => {
    state.hasBacklog = true;
    readiness.start();
    await clock.advance(1000);
    expect(readiness.hasBeenReady).toBe(false);
    state.hasBacklog = false;
    await clock.advance(100);
    state.isRedisUp = false;
    expect(readiness.hasBeenReady).toBe(true);
    expect(readiness.report()).toEqual({ ready: true, degraded: ['redis'] });
    expect(clock.pendingCount).toBe(0);
  });

  test('a stop ends the looking', () => {
    readiness.start();
    readiness.stop();
    expect(clock.pendingCount).toBe(0);
  });
});

describe('once it has been ready', () => {
  beforeEach(() => expect(readiness.report()).toEqual({ ready: true }));

  test('an unreachable Redis is a degradation, whatever follows from it', () => {
    Object.assign(state, { isRedisUp: false, isSubscriberUp: false, isFenced: true, isCanaryLate: true, isCutOff: true, hasBacklog: true });
    expect(readiness.report()).toEqual({ ready: true, degraded: ['redis'] });
    expect(readiness.hasBeenReady).toBe(true);
  });

  test('a lease that is not confirmed, whoever is to blame, is a degradation: Redis takes no writes, or has just come back', () => {
    state.isFenced = true;
    expect(readiness.report()).toEqual({ ready: true, degraded: ['redis'] });
  });

  test.each([
    ['fence', { isFencedOut: true }],
    ['fence', { isFencedOut: true, isFenced: true, isRedisUp: false }],
    ['canary', { isCanaryLate: true }],
    ['redis', { isSubscriberUp: false, isCutOff: true }],
    ['draining', { isDraining: true }],
  ])('%s is a fault of this replica', (reason, fault) => {
    Object.assign(state, fault);
    expect(readiness.report()).toEqual({ ready: false, reasons: [reason] });
  });

  test('a subscriber that is down is a degradation while events arrive without it', () => {
    state.isSubscriberUp = false;
    expect(readiness.report()).toEqual({ ready: true, degraded: ['redis'] });
  });

  test('draining counts without Redis too', () => {
    Object.assign(state, { isRedisUp: false, isDraining: true });
    expect(readiness.report()).toEqual({ ready: false, reasons: ['draining'] });
  });

  test('a reader that begins again is no fault: one that stays away is a late canary', () => {
    state.isReading = false;
    expect(readiness.report()).toEqual({ ready: true });
  });

  test('a backlog after a pause is worked off by a ready replica', () => {
    state.hasBacklog = true;
    expect(readiness.report()).toEqual({ ready: true });
  });
});

import { describe, expect, test } from 'vitest';
import { TakeoverWatch } from './takeover-watch.js';

const renewEveryMs = 3000;
const absent = { holder: undefined, renewals: 0, hasPredecessor: true, hasRedisBeenAway: false };

/** Looks once a second, as long as `state` gives something; returns when the id could be claimed. */
function claimedAtMs(state: (ms: number) => { holder?: string; renewals?: number } | 'unreachable', untilMs = 60_000): number | undefined {
  const watch = new TakeoverWatch(renewEveryMs);
  for (let ms = 0; ms <= untilMs; ms += 1000) {
    const seen = state(ms);
    if (seen === 'unreachable') watch.lost();
    else if (watch.sighted({ ...absent, holder: seen.holder, renewals: seen.renewals ?? 0 }, ms) === 'claim') return ms;
  }
  return undefined;
}

describe('taking over a replica id', () => {
  test('where nobody has left a trace there is nobody to wait for', () => {
    expect(new TakeoverWatch(renewEveryMs).sighted({ ...absent, hasPredecessor: false }, 0)).toBe('claim');
  });

  // Redis had been away, without its data or for longer than an hour, when a duplicate looked for the first time: it took the id of the
  // healthy replica, which was about to renew.
  test('a Redis that was away may have lost the traces: two renewals', () => {
    const watch = new TakeoverWatch(renewEveryMs);
    const clean = { ...absent, hasPredecessor: false, hasRedisBeenAway: true };
    const verdicts = [0, 2000, 4000, 6000].map((ms) => watch.sighted(clean, ms));
    expect(verdicts).toEqual(['wait', 'wait', 'wait', 'claim']);
  });

  test('a lease that is absent at the first look is waited for: two renewals', () => {
    expect(claimedAtMs(() => ({}))).toBe(6000);
  });

  test('a lease that was seen to run out, with Redis there all the time, is free when it has run out', () => {
    // Killed at 0 with 10 s left.
    expect(claimedAtMs((ms) => (ms < 10_000 ? { holder: 'dead', renewals: 7 } : {}))).toBe(10_000);
  });

  test('a holder that renews is never taken over', () => {
    expect(claimedAtMs((ms) => ({ holder: 'alive', renewals: Math.floor(ms / 3000) }))).toBeUndefined();
  });

  test('after an outage of Redis longer than the lease the healthy holder has two renewals to come back', () => {
    const outage = (ms: number) => ms >= 20_000 && ms < 40_000;
    const state = (ms: number) => {
      if (outage(ms)) return 'unreachable';
      if (ms < 20_000) return { holder: 'healthy', renewals: Math.floor(ms / 3000) };
      return ms < 43_000 ? {} : { holder: 'healthy', renewals: Math.floor(ms / 3000) };
    };
    expect(claimedAtMs(state)).toBeUndefined();
    // Without it, the id is free two renewals after Redis came back.
    expect(claimedAtMs((ms) => (outage(ms) ? 'unreachable' : ms < 20_000 ? { holder: 'h', renewals: ms } : {}))).toBe(46_000);
  });

  test('a pause of this process proves nothing about the time in which it did not look', () => {
    const watch = new TakeoverWatch(renewEveryMs);
    watch.sighted(absent, 0);
    expect(watch.sighted(absent, 20_000)).toBe('wait');
    watch.sighted(absent, 22_000);
    watch.sighted(absent, 24_000);
    expect(watch.sighted(absent, 26_000)).toBe('claim');
  });
});

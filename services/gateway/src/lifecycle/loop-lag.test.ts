import { type Clock, FakeClock } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { LoopLag } from './loop-lag.js';

let clock: FakeClock;
let lateMs: number;
let lag: LoopLag;
beforeEach(() => {
  clock = new FakeClock();
  lateMs = 0;
  const late: Clock = {
    nowMs: () => clock.nowMs(),
    wallMs: () => clock.wallMs(),
    setTimeout: (fn, ms) => clock.setTimeout(fn, ms + lateMs),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  lag = new LoopLag({ clock: late }, { maxLoopLagMs: 500 });
  lag.start();
});

describe('LoopLag', () => {
  test('a loop that is on time does not lag', async () => {
    await clock.advance(10_000);
    expect(lag.isLagging).toBe(false);
  });

  test('a loop that stays late for two seconds lags, and no longer once it is on time', async () => {
    lateMs = 600;
    await clock.advance(100 + 3 * 700);
    expect(lag.isLagging).toBe(false);
    await clock.advance(700);
    expect(lag.isLagging).toBe(true);
    lateMs = 0;
    await clock.advance(700 + 100);
    expect(lag.isLagging).toBe(false);
  });

  test('one pause, however long, refuses nobody', async () => {
    lateMs = 10_000;
    await clock.advance(100); // the next sample is now due 10 s late
    lateMs = 0;
    await clock.advance(10_100);
    expect(lag.isLagging).toBe(false);
    await clock.advance(5000);
    expect(lag.isLagging).toBe(false);
  });

  test('lag up to the limit is tolerated for ever', async () => {
    lateMs = 500;
    await clock.advance(60_000);
    expect(lag.isLagging).toBe(false);
  });

  test('a stop ends the samples', () => {
    lag.stop();
    expect(clock.pendingCount).toBe(0);
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from './clock.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the system clock', () => {
  test('waits longer than a timer of Node can: that one would fire at once', () => {
    const fire = vi.fn();
    const longMs = 3 * 2 ** 31;
    systemClock.setTimeout(fire, longMs);
    vi.advanceTimersByTime(longMs - 1);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  });

  test('takes a long wait back, whichever part of it runs', () => {
    const fire = vi.fn();
    const timer = systemClock.setTimeout(fire, 2 ** 32);
    vi.advanceTimersByTime(2 ** 31 + 1000);
    timer.cancel();
    vi.advanceTimersByTime(2 ** 33);
    expect(fire).not.toHaveBeenCalled();
  });

  test('fires at once what was due before', () => {
    const fire = vi.fn();
    systemClock.setTimeout(fire, -5);
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  });
});

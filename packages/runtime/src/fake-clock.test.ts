import { beforeEach, describe, expect, test } from 'vitest';
import { every } from './clock.js';
import { FakeClock } from './fake-clock.js';

let clock: FakeClock;
let calls: string[];

beforeEach(() => {
  clock = new FakeClock();
  calls = [];
});

const call = (name: string) => (): void => void calls.push(`${name} at ${clock.nowMs()}`);

describe('the fake clock', () => {
  test('stands still until it is moved', async () => {
    clock.setTimeout(call('a'), 0);
    await new Promise(setImmediate);
    expect(calls).toEqual([]);
    await clock.advance(0);
    expect(calls).toEqual(['a at 0']);
  });

  test('fires in the order of the due times, then of the creation, each at its own time', async () => {
    clock.setTimeout(call('c'), 20);
    clock.setTimeout(call('a'), 10);
    clock.setTimeout(call('b'), 10);
    await clock.advance(30);
    expect(calls).toEqual(['a at 10', 'b at 10', 'c at 20']);
    expect(clock.nowMs()).toBe(30);
  });

  test('fires what a timer sets within the same advance', async () => {
    clock.setTimeout(() => clock.setTimeout(call('b'), 5), 10);
    await clock.advance(15);
    expect(calls).toEqual(['b at 15']);
  });

  test('lets promises run between two timers', async () => {
    const work = async (): Promise<void> => {
      await clock.sleep(10);
      await Promise.resolve();
      call('after the sleep')();
    };
    void work();
    clock.setTimeout(call('later'), 11);
    await clock.advance(20);
    expect(calls).toEqual(['after the sleep at 10', 'later at 11']);
  });

  test('forgets a cancelled timer', async () => {
    const timer = clock.setTimeout(call('a'), 10);
    timer.cancel();
    await clock.advance(20);
    expect(calls).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  test('fires late what fell due while the process slept', async () => {
    clock.setTimeout(call('a'), 10);
    await clock.jump(1000);
    expect(calls).toEqual(['a at 1000']);
  });

  test('moves wall time with monotonic time', async () => {
    const before = clock.wallMs();
    await clock.advance(1500);
    expect(clock.wallMs() - before).toBe(1500);
  });
});

describe('a sleep', () => {
  test('is cut short by an abort, and leaves nothing behind', async () => {
    const stopping = new AbortController();
    const slept = clock.sleep(1000, stopping.signal).then(call('awake'));
    stopping.abort();
    await slept;
    expect(calls).toEqual(['awake at 0']);
    expect(clock.pendingCount).toBe(0);
  });

  test('does not begin when it is already aborted', async () => {
    await clock.sleep(1000, AbortSignal.abort());
    expect(clock.pendingCount).toBe(0);
  });
});

describe('every', () => {
  test('calls until it is cancelled, and does not make up for a late call', async () => {
    const timer = every(clock, 100, call('tick'));
    await clock.advance(250);
    await clock.jump(500);
    await clock.advance(100);
    timer.cancel();
    await clock.advance(1000);
    expect(calls).toEqual(['tick at 100', 'tick at 200', 'tick at 750', 'tick at 850']);
  });

  test('goes on when a call throws, and may be cancelled from within one', async () => {
    const timer = every(clock, 100, () => {
      call('tick')();
      timer.cancel();
    });
    await clock.advance(1000);
    expect(calls).toEqual(['tick at 100']);
  });
});

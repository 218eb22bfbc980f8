import { FakeClock } from '@event-gateway/runtime';
import { expect, test } from 'vitest';
import { RenewalWheel } from './renewal-wheel.js';

const periodMs = 3200; // slots of 100 ms

test('an item comes up after its delay, never earlier and at most two slots later', async () => {
  const clock = new FakeClock();
  const due = new Map<number, number>();
  const wheel = new RenewalWheel<number>(clock, periodMs, (delayMs) => due.set(delayMs, clock.nowMs()));
  wheel.start();
  await clock.advance(1234);
  const startMs = clock.nowMs();
  for (let delayMs = 0; delayMs <= periodMs; delayMs += 37) wheel.add(delayMs, delayMs);
  await clock.advance(periodMs + 300);
  expect(due.size).toBe(Math.floor(periodMs / 37) + 1);
  for (const [delayMs, dueMs] of due) {
    expect(dueMs - startMs).toBeGreaterThanOrEqual(delayMs);
    expect(dueMs - startMs).toBeLessThanOrEqual(delayMs + 200);
  }
});

test('an item may be put back while it is handed out, and comes up once per round', async () => {
  const clock = new FakeClock();
  let rounds = 0;
  const wheel = new RenewalWheel<string>(clock, periodMs, (item) => {
    rounds++;
    wheel.add(item, periodMs);
  });
  wheel.start();
  wheel.add('a', 0);
  await clock.advance(10 * (periodMs + 100));
  expect(rounds).toBe(10);
});

test('after a standstill of the process everything comes up once, and nothing is lost', async () => {
  class JumpingClock extends FakeClock {
    jumpMs = 0;
    override nowMs(): number {
      return super.nowMs() + this.jumpMs;
    }
  }
  const clock = new JumpingClock();
  const due: number[] = [];
  const wheel = new RenewalWheel<number>(clock, periodMs, (item) => {
    due.push(item);
    wheel.add(item, periodMs);
  });
  wheel.start();
  for (let i = 0; i < 32; i++) wheel.add(i, i * 100);
  clock.jumpMs = 1_000_000;
  wheel.add(99, 100); // before the wheel has noticed
  await clock.advance(400);
  expect(due.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 32 }, (_, i) => i), 99]);
});

test('stopped, it hands out nothing', async () => {
  const clock = new FakeClock();
  const wheel = new RenewalWheel<string>(clock, periodMs, () => expect.unreachable());
  wheel.start();
  wheel.add('a', 0);
  wheel.stop();
  await clock.advance(periodMs);
  expect(clock.pendingCount).toBe(0);
});

import { expect, test } from 'vitest';
import { FakeClock } from '../test/fake-clock.js';
import { Timers } from './timers.js';

function openTimers(): { clock: FakeClock; timers: Timers } {
  const clock = new FakeClock();
  const timers = new Timers(clock);
  timers.open();
  return { clock, timers };
}

test('setting a name again replaces it', async () => {
  const { clock, timers } = openTimers();
  const ran: string[] = [];
  timers.set('a', 10, () => ran.push('first'));
  timers.set('a', 20, () => ran.push('second'));
  await clock.advance(100);
  expect(ran).toEqual(['second']);
});

test('closing leaves no timer, and none can be set after it', () => {
  const { clock, timers } = openTimers();
  timers.set('a', 10, () => {});
  timers.close();
  timers.set('b', 10, () => {});
  expect(clock.pending).toBe(0);
});

test('a timer may set itself again', async () => {
  const { clock, timers } = openTimers();
  let ran = 0;
  const again = (): void => {
    ran += 1;
    timers.set('a', 10, again);
  };
  again();
  await clock.advance(35);
  expect(ran).toBe(4);
});

test('something is due once per interval', async () => {
  const { clock, timers } = openTimers();
  expect([timers.isDue('a', 10), timers.isDue('a', 10), timers.isDue('b', 10)]).toEqual([true, false, true]);
  await clock.advance(10);
  expect(timers.isDue('a', 10)).toBe(true);
});

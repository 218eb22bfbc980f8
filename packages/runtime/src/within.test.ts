import { beforeEach, expect, test } from 'vitest';
import { FakeClock } from './fake-clock.js';
import { within } from './within.js';

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

test('work that is done in time is what it is, and no timer stays behind', async () => {
  const inTime = within(
    clock,
    100,
    clock.sleep(99).then(() => 'done'),
  );
  await clock.advance(99);
  expect(await inTime).toBe('done');
  expect(clock.pendingCount).toBe(0);
});

test('work that takes longer is undefined when the time is over, not later', async () => {
  let answer: unknown = 'none yet';
  void within(clock, 100, new Promise<string>(() => undefined)).then((value) => {
    answer = value;
  });
  await clock.advance(99);
  expect(answer).toBe('none yet');
  await clock.advance(1);
  expect(answer).toBeUndefined();
});

test('work that fails in time fails', async () => {
  await expect(within(clock, 100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(clock.pendingCount).toBe(0);
});

test('what becomes of work that took too long hurts nobody', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const late = within(
    clock,
    100,
    clock.sleep(200).then(() => Promise.reject(new Error('late'))),
  );
  await clock.advance(300);
  expect(await late).toBeUndefined();
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

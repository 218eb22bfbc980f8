import { expect, test } from 'vitest';
import { Backoff } from './backoff.js';

const options = { firstRetryMaxMs: 5_000, backoffBaseMs: 1_000, backoffMaxMs: 30_000 };

test('the first wait is drawn from the whole window, so that a dead replica’s clients do not come back at once', () => {
  const draws = [0, 0.25, 0.999].map((draw) => new Backoff(options, () => draw).nextMs());
  expect(draws).toEqual([0, 1_250, 4_995]);
});

test('then full jitter under a ceiling that doubles, up to its maximum', () => {
  const backoff = new Backoff(options, () => 1);
  backoff.nextMs();
  expect([1, 2, 3, 4, 5, 6].map(() => backoff.nextMs())).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

test('the gateway’s hint is taken as it is', () => {
  expect(new Backoff(options, () => 1).nextMs(1_234)).toBe(1_234);
});

test('hints that follow each other without a stable connection get jitter on top', () => {
  const backoff = new Backoff(options, () => 1);
  expect([0, 0, 0, 0].map((hint) => backoff.nextMs(hint))).toEqual([0, 0, 4_000, 8_000]);
});

test('only a reset gives the credit back', () => {
  const backoff = new Backoff(options, () => 1);
  for (let i = 0; i < 5; i++) backoff.nextMs();
  expect(backoff.nextMs()).toBe(30_000);
  backoff.reset();
  expect(backoff.nextMs()).toBe(5_000);
});

test('a thousand failures overflow nothing', () => {
  const backoff = new Backoff(options, () => 1);
  for (let i = 0; i < 1_000; i++) backoff.nextMs();
  expect(backoff.nextMs()).toBe(30_000);
});

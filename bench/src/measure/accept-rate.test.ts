import { expect, test } from 'vitest';
import { mostOverBucket, type OpenedCount } from './accept-rate.js';

const bucket = { perSecond: 500, burst: 1000 };

const at = (second: number, opened: number, tookMs = 0): OpenedCount => ({
  askedUs: second * 1_000_000,
  answeredUs: second * 1_000_000 + tookMs * 1000,
  opened,
});

test('a burst and the rate behind it are within the bucket, to the last connection', () => {
  expect(mostOverBucket([at(0, 0), at(1, 1500), at(2, 2000)], bucket)).toBe(0);
  expect(mostOverBucket([at(0, 0), at(1, 1501), at(2, 2000)], bucket)).toBe(1);
});

test('a burst is not given twice: it is the whole that counts, and not only what follows each other', () => {
  expect(mostOverBucket([at(0, 0), at(1, 1500), at(2, 2600)], bucket)).toBe(600);
});

test('a count that took long to come may be of any moment of it', () => {
  expect(mostOverBucket([at(0, 0), at(1, 1600, 200)], bucket)).toBe(0);
});

import { expect, test } from 'vitest';
import { RedisTime } from './redis-time.js';

test('nothing is known before the first reply', () => {
  expect(new RedisTime().at(5)).toBeUndefined();
});

test('the estimate is never later than the truth, and the fastest reply makes it the closest', () => {
  const time = new RedisTime();
  // Redis is truly 1,000 ahead. It read its clock at 100 of ours, and the answer came at 180.
  time.learn(1100, 90, 180);
  expect(time.at(200)).toBe(1120);
  time.learn(1300, 299, 301);
  expect(time.at(400)).toBe(1399);
  // A slow reply adds nothing.
  time.learn(1500, 450, 900);
  expect(time.at(1000)).toBe(1999);
});

test('a clock of Redis that was set back is believed at the next reply', () => {
  const time = new RedisTime();
  time.learn(10_000, 100, 101);
  time.learn(5000, 200, 202);
  expect(time.at(202)).toBeLessThanOrEqual(5002);
  expect(time.at(202)).toBeGreaterThanOrEqual(5000);
});

test('a clock of Redis that jumped ahead is believed too', () => {
  const time = new RedisTime();
  time.learn(1000, 100, 101);
  time.learn(9000, 200, 202);
  expect(time.at(202)).toBe(9000);
});

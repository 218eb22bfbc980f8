import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from './fake-clock.js';
import { TokenBucket } from './token-bucket.js';

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

/** How many tokens it gives at once. */
function drained(bucket: TokenBucket): number {
  let taken = 0;
  while (taken < 1000 && bucket.take()) taken++;
  return taken;
}

describe('a token bucket', () => {
  test('gives its burst at once, and then nothing', () => {
    const bucket = new TokenBucket(10, 3, clock);
    expect(drained(bucket)).toBe(3);
    expect(bucket.take()).toBe(false);
  });

  test('fills at its rate', async () => {
    const bucket = new TokenBucket(10, 3, clock);
    drained(bucket);
    await clock.advance(99);
    expect(bucket.take()).toBe(false);
    await clock.advance(1);
    expect(drained(bucket)).toBe(1);
  });

  test('keeps the fraction of a token that was not enough', async () => {
    const bucket = new TokenBucket(10, 3, clock);
    drained(bucket);
    for (let i = 0; i < 4; i++) {
      await clock.advance(25);
      if (i < 3) expect(bucket.take()).toBe(false);
    }
    expect(bucket.take()).toBe(true);
  });

  test('never holds more than its burst, however long nobody asks', async () => {
    const bucket = new TokenBucket(10, 3, clock);
    await clock.advance(3_600_000);
    expect(drained(bucket)).toBe(3);
  });
});

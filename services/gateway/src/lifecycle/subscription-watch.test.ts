import { FakeClock } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { SubscriptionWatch } from './subscription-watch.js';

let clock: FakeClock;
let up: { command: boolean; subscriber: boolean };
let watch: SubscriptionWatch;
beforeEach(() => {
  clock = new FakeClock();
  up = { command: true, subscriber: true };
  watch = new SubscriptionWatch({ isUp: (connection) => up[connection] }, clock, { maxDelayMs: 5000 });
  watch.start();
});

describe('the subscriber', () => {
  test('is late when it has been down for longer than the limit while Redis answers', async () => {
    up.subscriber = false;
    await clock.advance(5000);
    expect(watch.isLate()).toBe(false);
    await clock.advance(400);
    expect(watch.isLate()).toBe(true);
    up.subscriber = true;
    expect(watch.isLate()).toBe(false);
  });

  test('is not late when all of Redis is away, nor in the moment after it has come back', async () => {
    up = { command: false, subscriber: false };
    await clock.advance(60_000);
    expect(watch.isLate()).toBe(false);
    up.command = true;
    await clock.advance(4000);
    expect(watch.isLate()).toBe(false);
    up.subscriber = true;
    await clock.advance(60_000);
    expect(watch.isLate()).toBe(false);
  });

  test('that flaps is late only by the time since it last stood', async () => {
    for (let count = 0; count < 10; count++) {
      up.subscriber = false;
      await clock.advance(2000);
      up.subscriber = true;
      await clock.advance(500);
    }
    up.subscriber = false;
    await clock.advance(2000);
    expect(watch.isLate()).toBe(false);
  });

  test('is not looked after any more once stopped, more than once', () => {
    watch.stop();
    watch.stop();
    expect(watch.isLate()).toBe(false);
  });
});

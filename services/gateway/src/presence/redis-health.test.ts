import { FakeClock, type Logger, silentLogger } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import { RedisHealth } from './redis-health.js';

let clock: FakeClock;
let health: RedisHealth;
let lines: string[];
let events: string[];

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  events = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (_fields, message) => lines.push(message),
    info: (_fields, message) => lines.push(message),
  };
  health = new RedisHealth(clock, logger);
  health.onReturned(() => events.push('returned'));
  health.onLongAway(() => events.push('long away'));
});

/** At once, as where there is no connection; or after this long without an answer. */
function fail(waitedMs = 0): void {
  health.failed(new Error('down'), clock.nowMs() - waitedMs);
}

async function failFor(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    await clock.advance(500);
    fail();
  }
}

test('an outage of a minute is a warning every ten seconds, and one line when it is over', async () => {
  health.succeeded();
  await failFor(60_000);
  expect(lines.filter((line) => line === 'presence cannot reach Redis')).toHaveLength(6);
  health.succeeded();
  expect(lines.at(-1)).toBe('presence reaches Redis again');
});

test('a start asks before the connection stands: not a word about that', async () => {
  await failFor(1500);
  health.succeeded();
  expect(lines).toEqual([]);
  fail();
  expect(lines).toEqual(['presence cannot reach Redis']);
});

test('a start without Redis is told, after a moment', async () => {
  await failFor(2500);
  expect(lines).toEqual(['presence cannot reach Redis']);
});

test('after ten seconds without an answer Redis is long away, once per outage', async () => {
  await failFor(9500);
  expect(events).toEqual([]);
  await failFor(20_000);
  expect(events).toEqual(['long away']);
  health.succeeded();
  await failFor(10_500);
  expect(events).toEqual(['long away', 'returned', 'long away']);
});

test('one failure between answers is no outage', async () => {
  await failFor(1000);
  expect(health.isAway).toBe(false);
  health.succeeded();
  expect(events).toEqual([]);
  await clock.advance(60_000);
  // The last answer is long ago because nobody asked.
  fail();
  expect(health.isAway).toBe(false);
  expect(health.isLongAway).toBe(false);
  await failFor(1500);
  expect(health.isAway).toBe(false);
  health.succeeded();
  expect(events).toEqual([]);
});

test('an outage begins when the first call that failed was sent, or with an answer that came since', async () => {
  health.succeeded();
  await clock.advance(2000);
  fail(2000);
  expect(health.isAway).toBe(true);
  health.succeeded();
  await clock.advance(1500);
  fail(3000);
  expect(health.isAway).toBe(false);
});

test('while it is away nobody needs to wait for another failure', async () => {
  await failFor(2500);
  expect(health.isAway).toBe(true);
});

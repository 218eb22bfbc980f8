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

async function failFor(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    await clock.advance(500);
    health.failed(new Error('down'));
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
  health.failed(new Error('down'));
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
  health.failed(new Error('a script failed'));
  // The last answer is long ago because nobody asked; but then it is away, for all that is known.
  expect(health.isAway).toBe(true);
  health.succeeded();
  expect(health.isAway).toBe(false);
});

test('while it is away nobody needs to wait for another failure', async () => {
  await failFor(2000);
  expect(health.isAway).toBe(true);
});

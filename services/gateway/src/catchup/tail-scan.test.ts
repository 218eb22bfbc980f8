import type { StreamId, UserId } from '@event-gateway/protocol';
import { type Clock, FakeClock, systemClock } from '@event-gateway/runtime';
import { expect, test, vi } from 'vitest';
import { RecentEvents } from '../tail/recent-events.js';
import { TailScan } from './tail-scan.js';

const envelope = Buffer.from('{"type":"x"}');

function tailFor(recipientsOf: (n: number) => readonly string[], count: number, maxBytes = 1e9): RecentEvents {
  const tail = new RecentEvents(new FakeClock(), { maxBytes, maxAgeMs: 1e9 });
  for (let n = 1; n <= count; n++) tail.append(`${n}-0` as StreamId, Buffer.from(JSON.stringify(recipientsOf(n))), envelope, 0);
  return tail;
}

test('a short stretch is looked through at once', () => {
  const tail = tailFor((n) => (n % 2 === 0 ? ['a', 'b'] : ['b']), 10);
  const found = new TailScan(tail, systemClock).find('a' as UserId, 4);
  expect(found).toMatchObject({ position: 10, events: [{ id: '6-0' }, { id: '8-0' }, { id: '10-0' }] });
});

test('recipients with escapes are found as well', () => {
  const tail = tailFor(() => [], 0);
  tail.append('2-0' as StreamId, Buffer.from(String.raw`["\u0061"]`), envelope, 0);
  expect(new TailScan(tail, systemClock).find('a' as UserId, 0)).toMatchObject({ events: [{ id: '2-0' }] });
});

test('what was found stays as it was while the tail goes on in the same memory', async () => {
  const tail = tailFor((n) => (n === 1 ? ['a'] : ['b']), 1, 140_000);
  const { events } = await new TailScan(tail, systemClock).find('a' as UserId, 0);
  const [recipients, large] = [Buffer.from('["b"]'), Buffer.alloc(1000, 'x')];
  for (let n = 2; n < 1000; n++) tail.append(`${n}-0` as StreamId, recipients, large, 0);
  expect(tail.covers('1-0' as StreamId)).toBe(false);
  expect(events).toEqual([{ id: '1-0', envelope }]);
});

// A thousand of a group of five thousand came back together, and each of twenty events kept 80 KB of ids for each of them: 1.6 GB.
test('a large group that comes back together shares what it missed, and holds nobody’s ids', async () => {
  const group = Array.from({ length: 5000 }, (_, i) => `member-${i}`);
  const tail = tailFor(() => group, 200);
  const scan = new TailScan(tail, systemClock);
  const found = await Promise.all(group.slice(0, 1000).map(async (user) => scan.find(user as UserId, 0)));
  const events = found.flatMap((one) => one.events);
  expect(events).toHaveLength(200_000);
  const distinct = new Set(events);
  expect(distinct.size).toBe(200);
  for (const event of distinct) expect(Object.keys(event)).toEqual(['id', 'envelope']);
});

test('many who come back at the same moment share one pass, each gets their own events after their own position', async () => {
  let looks = 0;
  const users = Array.from({ length: 50 }, (_, i) => `user-${i}`);
  const tail = tailFor((n) => [users[n % 50] ?? '', users[(n * 7) % 50] ?? ''], 5000);
  const range = tail.range.bind(tail);
  tail.range = (after, until) => {
    looks += until - after;
    return range(after, until);
  };
  const scan = new TailScan(tail, systemClock);
  const found = await Promise.all(users.map(async (user, i) => scan.find(user as UserId, i)));
  expect(looks).toBe(5000);
  for (const [i, { events, position }] of found.entries()) {
    expect(position).toBe(5000);
    const expected = Array.from({ length: 5000 }, (_, k) => k + 1).filter((n) => n > i && (n % 50 === i || (n * 7) % 50 === i));
    expect(events.map(({ id }) => id)).toEqual(expected.map((n) => `${n}-0`));
  }
});

test('a user with several connections that come back together gets each one’s events', async () => {
  const tail = tailFor(() => ['a'], 3000);
  const scan = new TailScan(tail, systemClock);
  const [first, second] = await Promise.all([scan.find('a' as UserId, 0), scan.find('a' as UserId, 1000)]);
  expect([first.events.length, second.events.length]).toEqual([3000, 2000]);
});

test('what is read during a pass is part of it: whoever waited for it is up to date at its end', async () => {
  const tail = tailFor(() => ['a'], 3000);
  let turns = 0;
  const range = tail.range.bind(tail);
  tail.range = (after, until) => {
    if (++turns === 2) tail.append('3001-0' as StreamId, Buffer.from('["a"]'), envelope, 0);
    return range(after, until);
  };
  const { events, position } = await new TailScan(tail, systemClock).find('a' as UserId, 0);
  expect([events.length, position, tail.lastPosition]).toEqual([3001, 3001, 3001]);
});

// Of 10,000 who came back at 500 a second each had thousands of events to be looked for. Scans took half of the loop, and those who had
// been connected all the time waited for their frames twice to three times as long as before.
test.each([
  { events: 3000, pauseMs: 120 },
  { events: 90_000, pauseMs: 500 },
])('after a pass over $events events the others have the loop for four times as long, up to half a second', async ({ events, pauseMs }) => {
  const slept: number[] = [];
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    wallMs: () => 0,
    setTimeout: () => ({ cancel: () => undefined }),
    sleep: async (ms) => void slept.push(ms),
  };
  const tail = tailFor(() => ['a'], events);
  const range = tail.range.bind(tail);
  tail.range = (after, until) => {
    nowMs += (until - after) / 100;
    return range(after, until);
  };
  await new TailScan(tail, clock).find('a' as UserId, 0);
  await vi.waitFor(() => expect(slept).toEqual([pauseMs]));
});

test('more than a moment’s events are never looked through for one user alone', async () => {
  const tail = tailFor(() => ['a'], 1000);
  const scan = new TailScan(tail, systemClock);
  expect(scan.find('a' as UserId, 900)).not.toBeInstanceOf(Promise);
  expect(scan.find('a' as UserId, 899)).toBeInstanceOf(Promise);
});

// One fault ended the process as an unhandled rejection; had it been caught, nobody would have been scanned for ever after.
test('a pass that fails fails those who waited for it, and the next one is made', async () => {
  const tail = tailFor(() => ['a'], 3000);
  const range = tail.range.bind(tail);
  let turns = 0;
  tail.range = (after, until) => {
    if (++turns === 2) throw new Error('boom');
    return range(after, until);
  };
  const scan = new TailScan(tail, systemClock);
  const failed = await Promise.allSettled([scan.find('a' as UserId, 0), scan.find('b' as UserId, 0)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect((await scan.find('a' as UserId, 0)).events).toHaveLength(3000);
});

test('whoever waits when the scan stops is told so, and so is everybody after', async () => {
  const tail = tailFor(() => ['a'], 3000);
  const scan = new TailScan(tail, systemClock);
  const waiting = Promise.resolve(scan.find('a' as UserId, 0));
  const stopped = scan.stop();
  await expect(waiting).rejects.toThrow();
  await expect(Promise.resolve(scan.find('a' as UserId, 0))).rejects.toThrow();
  await stopped;
});

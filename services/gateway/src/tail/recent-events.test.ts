import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { previousStreamId } from './previous-stream-id.js';
import { RecentEvents } from './recent-events.js';

const id = (n: number): StreamId => `${n}-0` as StreamId;
const recipients = Buffer.from('["u1"]');

function tailOf(ids: number[], { maxBytes = 1e6, maxAgeMs = 1e6, bytes = 10 } = {}) {
  const clock = new FakeClock(10_000);
  const tail = new RecentEvents(clock, { maxBytes, maxAgeMs });
  tail.restartAt(id(0));
  for (const n of ids) tail.append(id(n), recipients, Buffer.alloc(bytes));
  return { tail, clock };
}

test('a cursor is covered from the lower bound to the last id that was read', () => {
  const { tail } = tailOf([5, 7, 9]);
  expect([0, 4, 5, 8, 9].every((n) => tail.covers(id(n)))).toBe(true);
  expect(tail.covers(id(10))).toBe(false);
  tail.restartAt(id(20));
  expect(tail.covers(id(9))).toBe(false);
  expect(tail.covers(id(20))).toBe(true);
});

test('bytes bound the tail: the oldest go, and with them the cursors below them', () => {
  const { tail } = tailOf([], { maxBytes: 20_000 });
  for (let n = 1; n <= 500; n++) tail.append(id(n), recipients, Buffer.alloc(100));
  expect(tail.bytes).toBeLessThanOrEqual(20_000);
  expect(tail.covers(id(500))).toBe(true);
  expect(tail.covers(id(1))).toBe(false);
  const oldest = tail.at(tail.firstPosition);
  expect(oldest && previousStreamId(oldest.id)).toBeDefined();
  expect(compareStreamIds(tail.lowerBound, oldest?.id ?? '0-0')).toBeLessThan(0);
});

test('age bounds the tail', async () => {
  const { tail, clock } = tailOf([1], { maxAgeMs: 1000 });
  await clock.advance(1500);
  tail.append(id(2), recipients, Buffer.alloc(1));
  expect(tail.covers(id(1))).toBe(true);
  expect(tail.covers(id(0))).toBe(false);
});

test('a malformed entry moves the last id and takes no place', () => {
  const { tail } = tailOf([1]);
  tail.pass(id(2));
  expect(tail.lastId).toBe(id(2));
  expect(tail.lastPosition - tail.firstPosition).toBe(0);
});

test('older entries are put before the oldest, as many as there is room for', () => {
  const { tail } = tailOf([10], { maxBytes: 2000 });
  const older = Array.from({ length: 9 }, (_, i) => ({ id: id(9 - i), recipients, envelope: Buffer.alloc(10) }));
  const taken = tail.prepend(older);
  expect(taken).toBeGreaterThan(2);
  expect(taken).toBeLessThan(9);
  expect(tail.at(tail.firstPosition)?.id).toBe(id(10 - taken));
  expect(tail.at(tail.lastPosition)?.id).toBe(id(10));
});

test('a position is found for every cursor, kept or not', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 40 }),
      fc.integer({ min: 0, max: 61 }),
      fc.nat(30),
      (ns, cursor, evict) => {
        const ids = ns.sort((a, b) => a - b);
        const { tail } = tailOf(ids, { maxBytes: 336 * Math.max(1, ids.length - evict) });
        const position = tail.positionOf(id(cursor));
        const following = [];
        for (let p = position + 1; p <= tail.lastPosition; p++) following.push(tail.at(p)?.id);
        const kept = ids.slice(ids.length - (tail.lastPosition - tail.firstPosition + 1));
        expect(following).toEqual(kept.filter((n) => n > cursor).map(id));
      },
    ),
  );
});

test('the greatest id below another', () => {
  expect(previousStreamId('5-3' as StreamId)).toBe('5-2');
  expect(previousStreamId('5-0' as StreamId)).toBe('4-18446744073709551615');
  expect(previousStreamId('0-1' as StreamId)).toBe('0-0');
  expect(previousStreamId('0-0' as StreamId)).toBe('0-0');
});

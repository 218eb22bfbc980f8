import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RecentEvent } from './event-segment.js';
import { RecentEvents } from './recent-events.js';

const id = (n: number): StreamId => `${n}-0` as StreamId;
const recipients = Buffer.from('["u1"]');

function tailOf(ids: number[], { maxBytes = 1e6, maxAgeMs = 1e6, bytes = 10 } = {}) {
  const clock = new FakeClock(10_000);
  const tail = new RecentEvents(clock, { maxBytes, maxAgeMs });
  tail.restartAt(id(0), 'gap');
  for (const n of ids) tail.append(id(n), recipients, Buffer.alloc(bytes, String(n % 10)), clock.nowMs());
  return { tail, clock };
}

test('a cursor is covered from the lower bound to the last id that was read', () => {
  const { tail } = tailOf([5, 7, 9]);
  expect([0, 4, 5, 8, 9].every((n) => tail.covers(id(n)))).toBe(true);
  expect(tail.covers(id(10))).toBe(false);
  tail.restartAt(id(20), 'gap');
  expect(tail.covers(id(9))).toBe(false);
  expect(tail.covers(id(20))).toBe(true);
});

const kept = (tail: RecentEvents): StreamId[] => [...tail.range(tail.firstPosition - 1, tail.lastPosition)].map(([, event]) => event.id);

const whole = ({ id, recipients, envelope }: RecentEvent): RecentEvent => ({ id, recipients, envelope });

test('bytes bound the tail: the oldest go, and with them the cursors below them', () => {
  const { tail } = tailOf([], { maxBytes: 300_000 });
  for (let n = 1; n <= 5000; n++) tail.append(id(n), recipients, Buffer.alloc(100), 0);
  expect(tail.bytes).toBeLessThanOrEqual(300_000);
  expect(tail.covers(id(5000))).toBe(true);
  expect(tail.covers(id(1))).toBe(false);
  expect(kept(tail).length).toBeGreaterThan(1000);
  expect(kept(tail)[0] === id(Number.parseInt(tail.lowerBound, 10) + 1)).toBe(true);
});

// Small events need more places for their ends than a new segment has. What had grown left by its new size and had come by its old one:
// the count sank with every segment, and nothing bounded the tail any more.
test('the bytes are those of the memory that is held, however often it is filled and left', async () => {
  const { tail, clock } = tailOf([], { maxBytes: 20e6, maxAgeMs: 1000 });
  const smallPerSegment = Math.floor(65_536 / 50);
  const grownSegmentBytes = 65_536 + 2048 * 3 * Uint32Array.BYTES_PER_ELEMENT;
  let n = 1000;
  const fill = (segments: number): void => {
    for (const end = n + segments * smallPerSegment; n < end; n++)
      tail.append(id(n), recipients, Buffer.alloc(50 - recipients.length - id(n).length), clock.nowMs());
  };
  fill(20);
  expect(tail.bytes).toBe(20 * grownSegmentBytes);
  for (let cycle = 0; cycle < 5; cycle++) {
    await clock.advance(1500);
    fill(1);
    // All others are too old: their memory waits to be filled again, as far as it may.
    expect(tail.bytes).toBe((1 + 16) * grownSegmentBytes);
    fill(39);
    expect(tail.bytes).toBe(40 * grownSegmentBytes);
  }
  fill(500);
  expect(tail.bytes).toBe(Math.floor(20e6 / grownSegmentBytes) * grownSegmentBytes);
});

test('age bounds the tail', async () => {
  const { tail, clock } = tailOf([1], { maxAgeMs: 1000, bytes: 65_000 });
  await clock.advance(1500);
  for (const n of [2, 3]) tail.append(id(n), recipients, Buffer.alloc(65_000), clock.nowMs());
  expect(kept(tail)).toEqual([id(2), id(3)]);
  expect(tail.covers(id(1))).toBe(true);
  expect(tail.covers(id(0))).toBe(false);
});

test('what was put in comes out again, byte for byte', () => {
  const { tail } = tailOf([]);
  const sizes = [0, 1, 300, 70_000, 5, 200_000, 12];
  const put = sizes.map((size, n) => ({ id: id(n + 1), recipients: Buffer.from(`["u${n}"]`), envelope: Buffer.alloc(size, `${n}`) }));
  for (const event of put) tail.append(event.id, event.recipients, event.envelope, 0);
  expect([...tail.range(0, sizes.length)].map(([, event]) => whole(event))).toEqual(put);
});

test('memory whose events have left is filled again, and what is in it now comes out', () => {
  const { tail } = tailOf([], { maxBytes: 200_000 });
  const sizes = [100, 70_000, 3000, 40_000, 1];
  const envelopeOf = (n: number): Buffer => Buffer.alloc(sizes[n % sizes.length] ?? 0, `${n}`);
  for (let n = 1; n <= 500; n++) tail.append(id(n), Buffer.from(`["u${n}"]`), envelopeOf(n), 0);
  const events = [...tail.range(tail.firstPosition - 1, tail.lastPosition)];
  expect(events.length).toBeGreaterThan(3);
  const put = events.map(([n]) => ({ id: id(n), recipients: Buffer.from(`["u${n}"]`), envelope: envelopeOf(n) }));
  expect(events.map(([, event]) => whole(event))).toEqual(put);
});

test('a malformed entry moves the last id and takes no place', () => {
  const { tail } = tailOf([1]);
  tail.pass(id(2));
  expect(tail.lastId).toBe(id(2));
  expect(kept(tail)).toEqual([id(1)]);
});

test('older entries are put before the oldest, as many as there is room for', () => {
  const { tail } = tailOf([100], { maxBytes: 200_000 });
  const older = Array.from({ length: 99 }, (_, i) => ({ id: id(99 - i), recipients, envelope: Buffer.alloc(1500) }));
  const taken = tail.prepend(older);
  expect(tail.bytes).toBeLessThanOrEqual(200_000);
  expect(taken).toBeGreaterThan(2);
  expect(taken).toBeLessThan(99);
  expect(kept(tail)).toEqual(Array.from({ length: taken + 1 }, (_, i) => id(100 - taken + i)));
});

test('a position is found for every cursor, kept or not', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 40 }),
      fc.integer({ min: 0, max: 61 }),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(20),
      (ns, cursor, segments, older) => {
        const ids = ns.sort((a, b) => a - b);
        const { tail } = tailOf(ids.slice(older), { maxBytes: 33_000 * segments, bytes: 30_000 });
        tail.prepend(
          ids
            .slice(0, older)
            .reverse()
            .map((n) => ({ id: id(n), recipients, envelope: Buffer.alloc(1) })),
        );
        const following = [...tail.range(tail.positionOf(id(cursor)), tail.lastPosition)].map(([, event]) => event.id);
        expect(following).toEqual(kept(tail).filter((each) => compareStreamIds(each, id(cursor)) > 0));
      },
    ),
  );
});

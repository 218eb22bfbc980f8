import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAbove, isStreamId } from './stream-id.js';

const u64 = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 20n }));

test('order is that of two unsigned 64-bit numbers', () => {
  fc.assert(
    fc.property(u64, u64, u64, u64, (ms, seq, otherMs, otherSeq) => {
      const expected = ms > otherMs || (ms === otherMs && seq > otherSeq);
      expect(isAbove(`${ms}-${seq}`, `${otherMs}-${otherSeq}`)).toBe(expected);
    }),
  );
});

test('an id is not above itself', () => {
  expect(isAbove('1767225600000-0', '1767225600000-0')).toBe(false);
});

test.each(['0-0', '1767225600000-0', '18446744073709551615-1'])('%s is an id', (id) => expect(isStreamId(id)).toBe(true));
test.each([null, undefined, 7, '', '1', '01-0', '1-', '-1', '1-01', '$', '1-0 ', 'a-b'])('%s is none', (id) =>
  expect(isStreamId(id)).toBe(false),
);

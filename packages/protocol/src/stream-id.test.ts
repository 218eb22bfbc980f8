import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asStreamId, compareStreamIds, isStreamId, STREAM_START, streamIdMs } from './stream-id.js';

const max = '18446744073709551615';

test.each(['0-0', STREAM_START, '1767225600000-0', `${max}-${max}`, '9007199254740993-1'])('%s is a stream id', (id) => {
  expect(asStreamId(id)).toBe(id);
});

test.each([
  '',
  '1',
  '1-',
  '-1',
  '01-0',
  '0-00',
  '1-0 ',
  ' 1-0',
  '1-0\n',
  '1-0-0',
  '+1-0',
  '-1-0',
  '1.0-0',
  '1e3-0',
  '١-0',
  '$',
  '*',
  '>',
  '18446744073709551616-0',
  `0-${max}0`,
  `0-${'9'.repeat(20)}`,
  null,
  7,
  undefined,
])('%j is no stream id', (value) => {
  expect(isStreamId(value)).toBe(false);
});

describe('order', () => {
  const u64 = fc.oneof(fc.bigInt({ min: 0n, max: BigInt(max) }), fc.bigInt({ min: 0n, max: 20n }));

  test('ids compare as pairs of 64-bit numbers', () => {
    fc.assert(
      fc.property(u64, u64, u64, u64, (msA, seqA, msB, seqB) => {
        const [a, b] = [`${msA}-${seqA}`, `${msB}-${seqB}`];
        expect(isStreamId(a)).toBe(true);
        const expected = msA === msB ? seqA - seqB : msA - msB;
        expect(Math.sign(compareStreamIds(a, b))).toBe(expected === 0n ? 0 : expected < 0n ? -1 : 1);
      }),
    );
  });
});

test('the time of an id is Unix ms', () => {
  expect(streamIdMs('1767225600123-7')).toBe(1_767_225_600_123);
});

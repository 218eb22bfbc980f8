import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { expect, test } from 'vitest';
import { precedingId } from './preceding-id.js';

test.each([
  ['5-3', '5-2'],
  ['5-0', '4-18446744073709551615'],
  ['0-1', '0-0'],
  ['0-0', '0-0'],
  ['18446744073709551615-18446744073709551615', '18446744073709551615-18446744073709551614'],
])('the id before %s is %s', (id, expected) => {
  const before = precedingId(id as StreamId);
  expect(before).toBe(expected);
  if (id !== '0-0') expect(compareStreamIds(before, id)).toBeLessThan(0);
});

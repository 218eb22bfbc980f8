import type { StreamId, UserId } from '@event-gateway/protocol';
import { expect, test } from 'vitest';
import { usedBytes } from '../../test/memory.js';
import { queryParameter } from './query-parameter.js';
import { cursorOf, type Grant } from './upgrade.js';

function grantOf(query: string): Grant {
  return {
    userId: 'u' as UserId,
    expiresAtMs: 0,
    cursor: queryParameter(query, 'cursor'),
    subprotocol: undefined,
    place: { release: () => undefined },
  };
}

test('a cursor is a stream id or nothing', () => {
  expect(cursorOf(grantOf('token=t&cursor=1764489471000-12'))).toBe('1764489471000-12');
  expect(cursorOf(grantOf('token=t&cursor=yesterday'))).toBeUndefined();
  expect(cursorOf(grantOf('token=t'))).toBeUndefined();
});

test('a cursor does not keep the query, and the token in it, in memory', () => {
  const tokenBytes = 10_000;
  const cursors: (StreamId | undefined)[] = [];
  const before = usedBytes();
  for (let i = 0; i < 1000; i++) {
    // Of bytes, as the transport's texts are: a text put together of others would share its parts.
    const query = Buffer.from(`token=${'t'.repeat(tokenBytes)}&cursor=1764489471000-${i}`).toString();
    cursors.push(cursorOf(grantOf(query)));
  }
  expect(usedBytes() - before).toBeLessThan((1000 * tokenBytes) / 10);
  expect(cursors[999]).toBe('1764489471000-999');
});

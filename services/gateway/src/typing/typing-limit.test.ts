import type { ConversationId, UserId } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import { expect, test } from 'vitest';
import { TypingLimit } from './typing-limit.js';

const author = 'a' as UserId;
const dialog = (i: number): ConversationId => `g${i}` as ConversationId;

test('remembers no more than it may, and refuses what is beyond', async () => {
  const clock = new FakeClock();
  const limit = new TypingLimit(clock, 2000, 3);
  expect([0, 1, 2, 3].map((i) => limit.take(author, dialog(i)))).toEqual([true, true, true, false]);
  await clock.advance(2000);
  expect([3, 4, 5, 0].map((i) => limit.take(author, dialog(i)))).toEqual([true, true, true, false]);
});

test('a refused one does not lengthen the interval', async () => {
  const clock = new FakeClock();
  const limit = new TypingLimit(clock, 2000, 3);
  expect(limit.take(author, dialog(0))).toBe(true);
  await clock.advance(1999);
  expect(limit.take(author, dialog(0))).toBe(false);
  await clock.advance(1);
  expect(limit.take(author, dialog(0))).toBe(true);
});

test('ids that look alike when joined are different pairs', () => {
  const limit = new TypingLimit(new FakeClock(), 2000, 10);
  expect(limit.take('a b' as UserId, 'c' as ConversationId)).toBe(true);
  expect(limit.take('a' as UserId, 'b c' as ConversationId)).toBe(true);
});

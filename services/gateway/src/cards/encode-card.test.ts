import type { ConversationId, UserId } from '@event-gateway/protocol';
import { expect, test } from 'vitest';
import { encodeConversationCard, encodeUserCard } from './encode-card.js';

const userId = 'u1' as UserId;
const conversationId = 'c1' as ConversationId;
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

test('a user card is kept as the JSON that stands behind a key', () => {
  expect(textOf(encodeUserCard({ userId, displayName: 'A"\\\n é 😀' }).card.named)).toBe('"A\\"\\\\\\n é 😀"');
  expect(textOf(encodeUserCard({ userId, displayName: 'A', avatarUrl: 'x"y' }).card.named)).toBe('"A","avatar_url":"x\\"y"');
});

test('a lone surrogate in a name is escaped: the frame stays UTF-8', () => {
  expect(textOf(encodeUserCard({ userId, displayName: '\ud800' }).card.named)).toBe('"\\ud800"');
});

test('a conversation card is kept as its header, without what it does not have', () => {
  const { card } = encodeConversationCard({ conversationId, type: 'group', title: 'T', participants: [userId] });
  expect(textOf(card.header)).toBe('{"type":"group","title":"T"}');
  expect(card.participants).toEqual(['u1']);
});

test('what is kept has memory of its own: a slice of the common pool would keep 8 KiB alive for a hundred bytes', () => {
  const { named } = encodeUserCard({ userId, displayName: 'Alice' }).card;
  const { header } = encodeConversationCard({ conversationId, type: 'group', participants: [] }).card;
  for (const bytes of [named, header]) expect(bytes.buffer.byteLength).toBe(bytes.length);
});

import { describe, expect, test } from 'vitest';
import { decodeConversationCard, decodeUserCard, encodeConversationCard, encodeUserCard } from './cards.js';
import { asConversationId, asUserId } from './ids.js';
import { encodeText } from './json-text.js';

const user = { user_id: 'u1', display_name: 'Alice', avatar_url: 'https://a.test/u1.png', status: 'away' };
const conversation = {
  conversation_id: 'c1',
  type: 'group',
  title: 'Team',
  avatar_url: 'https://a.test/c1.png',
  participants: ['u1', 'u2', 'u1'],
};

describe('user cards', () => {
  test('are read from bytes, from text and from what is already parsed', () => {
    const card = { userId: 'u1', displayName: 'Alice', avatarUrl: 'https://a.test/u1.png', status: 'away' };
    for (const input of [user, JSON.stringify(user), encodeText(JSON.stringify(user))]) expect(decodeUserCard(input)).toEqual(card);
    expect(
      encodeUserCard({ userId: asUserId('u1') ?? fail(), displayName: 'Alice', avatarUrl: 'https://a.test/u1.png', status: 'away' }),
    ).toBe(JSON.stringify(user));
  });

  test('may lack everything but an id and a name; an optional field of another kind is absent', () => {
    expect(decodeUserCard({ user_id: 'u1', display_name: '', avatar_url: null, status: 7, later: true })).toEqual({
      userId: 'u1',
      displayName: '',
    });
  });

  test.each([
    undefined,
    null,
    7,
    '',
    '{',
    '[]',
    new Uint8Array([0xff]),
    {},
    { ...user, user_id: '' },
    { ...user, user_id: 7 },
    { ...user, display_name: undefined },
    { ...user, display_name: 7 },
  ])('are not %j', (card) => {
    expect(decodeUserCard(card)).toBeUndefined();
  });
});

describe('conversation cards', () => {
  test('are read from bytes, from text and from what is already parsed; a participant counts once', () => {
    const card = { conversationId: 'c1', type: 'group', title: 'Team', avatarUrl: 'https://a.test/c1.png', participants: ['u1', 'u2'] };
    for (const input of [conversation, JSON.stringify(conversation), encodeText(JSON.stringify(conversation))])
      expect(decodeConversationCard(input)).toEqual(card);
  });

  test('go over the wire and back', () => {
    const card = {
      conversationId: asConversationId('c1') ?? fail(),
      type: 'direct' as const,
      participants: ['u1', '__proto__'].map((id) => asUserId(id) ?? fail()),
    };
    expect(decodeConversationCard(encodeConversationCard(card))).toEqual(card);
  });

  test.each([
    { type: 'channel' },
    { type: undefined },
    { conversation_id: '' },
    { participants: undefined },
    { participants: ['u1', 7] },
    { participants: 'u1' },
  ])('are not those with %j', (fields) => {
    expect(decodeConversationCard({ ...conversation, ...fields })).toBeUndefined();
  });
});

const fail = (): never => {
  throw new Error('not an id');
};

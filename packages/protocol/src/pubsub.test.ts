import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conversationId, userId } from '../test/frames.js';
import { anyText } from '../test/json-texts.js';
import * as pubsub from './pubsub.js';

const message = <R, O>(required: fc.Arbitrary<R>, optional: fc.Arbitrary<O>) =>
  fc.tuple(required, optional).map(([r, o]) => ({ ...r, ...o }));
const none = fc.constant({});

describe('what one replica publishes another one reads', () => {
  test('presence', () => {
    const presence = message(
      fc.record({ userId, status: fc.constantFrom('online' as const, 'offline' as const), atMs: fc.nat() }),
      fc.record({ lastSeenMs: fc.nat() }, { requiredKeys: [] }),
    );
    fc.assert(
      fc.property(presence, (m) => {
        expect(pubsub.decodePresenceMessage(pubsub.encodePresenceMessage(m))).toEqual(m);
      }),
    );
  });

  test('typing', () => {
    const typing = fc.record({ conversationId, userId, recipients: fc.uniqueArray(userId) });
    fc.assert(
      fc.property(typing, (m) => {
        expect(pubsub.decodeTypingMessage(pubsub.encodeTypingMessage(m))).toEqual(m);
      }),
    );
  });

  test('control', () => {
    const control = fc.record({
      op: fc.constant('disconnect' as const),
      userId,
      code: fc.integer({ min: 4000, max: 4999 }),
      reason: fc.string({ maxLength: 30 }),
    });
    fc.assert(
      fc.property(control, (m) => {
        expect(pubsub.decodeControlMessage(pubsub.encodeControlMessage(m))).toEqual(m);
      }),
    );
  });

  test('user.updated', () => {
    const updated = userId.chain((id) =>
      message(
        fc.constant({ userId: id }),
        fc.oneof(none, fc.record({ card: fc.record({ userId: fc.constant(id), displayName: fc.string() }) })),
      ),
    );
    fc.assert(
      fc.property(updated, (m) => {
        expect(pubsub.decodeUserUpdated(pubsub.encodeUserUpdated(m))).toEqual(m);
      }),
    );
  });

  test('conversation.updated and member.changed', () => {
    fc.assert(
      fc.property(fc.record({ conversationId }), (m) => {
        expect(pubsub.decodeConversationChanged(pubsub.encodeConversationChanged(m))).toEqual(m);
      }),
    );
  });
});

const good = {
  decodePresenceMessage: { user_id: 'u1', status: 'offline', at_ms: 5 },
  decodeTypingMessage: { conversation_id: 'c1', user_id: 'u1', recipients: ['u2'] },
  decodeControlMessage: { op: 'disconnect', user_id: 'u1', code: 4403, reason: 'gone' },
  decodeUserUpdated: { user_id: 'u1' },
  decodeConversationChanged: { conversation_id: 'c1' },
} as const;

describe.each(Object.entries(good))('%s', (name, fields) => {
  const decode = pubsub[name as keyof typeof good];

  test('ignores unknown fields', () => {
    expect(decode(JSON.stringify({ ...fields, later: [1] }))).toEqual(decode(JSON.stringify(fields)));
    expect(decode(JSON.stringify(fields))).toBeDefined();
  });

  test('does not accept a message without one of its fields, or with one of another kind', () => {
    for (const key of Object.keys(fields)) {
      for (const value of [undefined, null, {}, [7], true, '']) {
        if (key === 'reason' && value === '') continue; // the empty reason is one
        expect(decode(JSON.stringify({ ...fields, [key]: value })), `${key} ${JSON.stringify(value)}`).toBeUndefined();
      }
    }
  });

  test('does not throw over any text', () => {
    fc.assert(fc.property(anyText, (text) => void decode(text)));
    for (const text of ['', 'null', '[]', '7', '"x"', '{']) expect(decode(text)).toBeUndefined();
  });
});

test.each([3999, 5000, 4403.5, '4403', 1000])('control with code %j is none: an application has 4000–4999', (code) => {
  expect(pubsub.decodeControlMessage(JSON.stringify({ ...good.decodeControlMessage, code }))).toBeUndefined();
});

test('control with a reason that does not fit into a close frame is none', () => {
  const decode = (reason: string): unknown => pubsub.decodeControlMessage(JSON.stringify({ ...good.decodeControlMessage, reason }));
  expect(decode('x'.repeat(123))).toBeDefined();
  expect(decode('x'.repeat(124))).toBeUndefined();
  expect(decode('ж'.repeat(62))).toBeUndefined();
});

test("user.updated with a malformed card, or with another user's, is the one without a card", () => {
  for (const card of [7, {}, null, 'x', { user_id: 'u1' }, { user_id: 'u2', display_name: 'Bob' }]) {
    expect(pubsub.decodeUserUpdated(JSON.stringify({ user_id: 'u1', card }))).toEqual({ userId: 'u1' });
  }
  expect(pubsub.decodeUserUpdated(JSON.stringify({ user_id: 'u1', card: { user_id: 'u1', display_name: 'Al' } }))).toEqual({
    userId: 'u1',
    card: { userId: 'u1', displayName: 'Al' },
  });
});

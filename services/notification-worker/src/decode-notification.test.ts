import { describe, expect, test } from 'vitest';
import { decodeNotification } from './decode-notification.js';

const item = (...fields: (string | Buffer)[]) => ({ id: '1-1', fields: fields.map((field) => Buffer.from(field)) });
const envelope = (fields: object = {}): string =>
  JSON.stringify({ type: 'message.new', conversation_id: 'c1', payload: { id: 'm1', sender_id: 'u1' }, ...fields });

test('the fast form and the slow form are the same notification', () => {
  const expected = { entryId: '1-1', messageId: 'm1', conversationId: 'c1', senderId: 'u1', recipients: ['u2', 'u3'] };
  expect(decodeNotification(item('recipients', '["u1","u2","u3"]', 'envelope', envelope()))).toEqual(expected);
  expect(decodeNotification(item('envelope', envelope({ recipients: ['u1', 'u2', 'u3'] })))).toEqual(expected);
});

test.each(['event', 'data', 'payload'])('a hand-written publisher may call the envelope %s', (name) => {
  expect(decodeNotification(item(name, envelope({ recipients: ['u2'] })))).toMatchObject({ messageId: 'm1' });
});

test('the envelope has precedence over the other names', () => {
  expect(decodeNotification(item('data', '{}', 'envelope', envelope({ recipients: ['u2'] })))).toMatchObject({ messageId: 'm1' });
});

test('a sender without an id of a user notifies everybody', () => {
  const decoded = decodeNotification(item('recipients', '["u1","u2"]', 'envelope', envelope({ payload: { id: 'm1', sender_id: 7 } })));
  expect(decoded).toMatchObject({ senderId: undefined, recipients: ['u1', 'u2'] });
});

test('a message without an id is told apart by its event, or by its entry', () => {
  expect(decodeNotification(item('recipients', '[]', 'envelope', envelope({ payload: {}, event_id: 'e1' })))).toMatchObject({
    messageId: 'e1',
  });
  expect(decodeNotification(item('recipients', '[]', 'envelope', envelope({ payload: {} })))).toMatchObject({ messageId: '1-1' });
});

test('other types wake nobody', () => {
  for (const type of ['message.edited', 'receipt.read', 'order.paid']) {
    expect(decodeNotification(item('recipients', '["u2"]', 'envelope', envelope({ type })))).toBe('other_type');
  }
});

describe('malformed', () => {
  test.each([
    ['no_envelope', item('recipients', '[]')],
    ['no_envelope', item('text', 'x')],
    ['not_json', item('recipients', '[]', 'envelope', '{')],
    ['not_object', item('recipients', '[]', 'envelope', '[]')],
    ['no_type', item('recipients', '[]', 'envelope', '{}')],
    ['type_reserved', item('recipients', '[]', 'envelope', envelope({ type: 'hello' }))],
    ['recipients_missing', item('envelope', envelope())],
    ['recipients_invalid', item('recipients', '["u1",""]', 'envelope', envelope())],
    ['recipients_invalid', item('envelope', envelope({ recipients: 'u1' }))],
    ['payload_invalid', item('recipients', '[]', 'envelope', envelope({ payload: 'x' }))],
    ['invalid_utf8', item('recipients', '[]', 'envelope', Buffer.from('{"type":"\xff"}', 'latin1'))],
    ['oversized', item('recipients', '[]', 'envelope', `{"type":"message.new","x":"${'x'.repeat(1_048_576)}"}`)],
  ])('%s', (reason, entry) => {
    expect(decodeNotification(entry)).toEqual({ malformed: reason });
  });
});

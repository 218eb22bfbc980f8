import { decodeEnvelope, decodeRecipients } from '@event-gateway/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EventEnvelope, encodeEnvelope } from './envelope.js';
import { InvalidEnvelopeError, type InvalidEnvelopeReason } from './publish-error.js';

const utf8 = new TextEncoder();

function anEvent(fields: Partial<EventEnvelope> = {}): EventEnvelope {
  return { type: 'message.new', conversationId: 'c1', recipients: ['u1', 'u2'], payload: { id: 'm1', seq: 1 }, ...fields };
}

function reasonOf(event: unknown): InvalidEnvelopeReason | undefined {
  try {
    encodeEnvelope(event as EventEnvelope);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidEnvelopeError) return error.reason;
    throw error;
  }
}

test('the fast form: recipients in a field of their own, and not in the envelope', () => {
  const event = anEvent({ eventId: 'e1', occurredAt: new Date(0), traceparent: '00-a-b-01' });
  expect(encodeEnvelope(event).recipients).toBe('["u1","u2"]');
  expect(JSON.parse(encodeEnvelope(event).envelope)).toEqual({
    type: 'message.new',
    event_id: 'e1',
    conversation_id: 'c1',
    occurred_at: '1970-01-01T00:00:00.000Z',
    traceparent: '00-a-b-01',
    payload: { id: 'm1', seq: 1 },
  });
});

test('a recipient that is named twice is written once', () => {
  expect(encodeEnvelope(anEvent({ recipients: ['u1', 'u2', 'u1'] })).recipients).toBe('["u1","u2"]');
});

test('nobody, no conversation and no payload are fine', () => {
  expect(encodeEnvelope({ type: 'custom.thing', recipients: [] })).toEqual({ recipients: '[]', envelope: '{"type":"custom.thing"}' });
});

describe('what the gateway would not deliver is refused with its reason', () => {
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const cases: [InvalidEnvelopeReason, Partial<Record<keyof EventEnvelope, unknown>>][] = [
    ['type_missing', { type: '' }],
    ['type_missing', { type: undefined }],
    ['type_reserved', { type: 'hello' }],
    ['type_reserved', { type: 'sync.required' }],
    ['type_reserved', { type: 'presence.snapshot' }],
    ['recipient_invalid', { recipients: undefined }],
    ['recipient_invalid', { recipients: 'u1' }],
    ['recipient_invalid', { recipients: ['u1', ''] }],
    ['recipient_invalid', { recipients: ['u1', 7] }],
    ['recipient_invalid', { recipients: ['a\u0000b'] }],
    ['recipient_invalid', { recipients: ['\ud800'] }],
    ['recipient_invalid', { recipients: ['x'.repeat(129)] }],
    ['conversation_id_invalid', { conversationId: '' }],
    ['event_id_invalid', { eventId: '' }],
    ['occurred_at_invalid', { occurredAt: 'yesterday' }],
    ['occurred_at_invalid', { occurredAt: new Date(Number.NaN) }],
    ['occurred_at_invalid', { occurredAt: '2026-01-01T00:00:00+02:00' }],
    ['traceparent_invalid', { traceparent: '' }],
    ['payload_invalid', { payload: 'text' }],
    ['payload_invalid', { payload: null }],
    ['payload_invalid', { payload: [1] }],
    ['payload_invalid', { payload: { toJSON: () => 'text' } }],
    ['payload_invalid', { payload: { big: 1n } }],
    ['payload_invalid', { payload: circular }],
    ['oversized', { payload: { text: 'x'.repeat(1_048_576) } }],
    ['oversized', { recipients: Array.from({ length: 100_000 }, (_, i) => `user-${i}`) }],
  ];
  test.each(cases)('%s: %o', (reason, fields) => {
    expect(reasonOf({ ...anEvent(), ...fields })).toBe(reason);
  });
});

test('other types may carry any JSON as their payload', () => {
  for (const payload of ['text', null, [1], 7]) expect(reasonOf(anEvent({ type: 'custom.thing', payload }))).toBeUndefined();
});

test('whatever is accepted, the gateway decodes to the same event', () => {
  const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const event = fc.record(
    {
      type: fc.string({ maxLength: 20 }),
      recipients: fc.array(id, { maxLength: 5 }),
      conversationId: id,
      eventId: fc.string(),
      payload: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
    },
    { requiredKeys: ['type', 'recipients'] },
  );
  fc.assert(
    fc.property(event, (candidate) => {
      if (reasonOf(candidate) !== undefined) return;
      const { recipients, envelope } = encodeEnvelope(candidate);
      const decoded = decodeEnvelope(utf8.encode(envelope), false);
      if (typeof decoded === 'string') throw new Error(`the gateway says ${decoded}`);
      expect(decodeRecipients(utf8.encode(recipients))).toEqual([...new Set(candidate.recipients)]);
      expect(decoded.type).toBe(candidate.type);
      expect(decoded.conversationId).toBe(candidate.conversationId);
      expect(decoded.eventId).toBe(candidate.eventId);
      const payload: unknown = JSON.parse(new TextDecoder().decode(decoded.payload));
      expect(payload).toEqual(candidate.payload === undefined ? {} : JSON.parse(JSON.stringify(candidate.payload)));
    }),
  );
});

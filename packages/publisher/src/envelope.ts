import { decodeEnvelope, isId, isReservedType, MAX_ENTRY_BYTES } from '@event-gateway/protocol';
import { InvalidEnvelopeError, type InvalidEnvelopeReason } from './publish-error.js';

/** One domain event and whom it is for. */
export interface EventEnvelope {
  /** E.g. `message.new`; any name that the gateway does not send itself. */
  readonly type: string;
  /** User ids; each counts once. `[]` is nobody. */
  readonly recipients: readonly string[];
  readonly conversationId?: string | undefined;
  /** An object for `message.*`; anything that JSON can say otherwise. `{}` when left out. */
  readonly payload?: unknown;
  /** Clients drop a second event with the same id. Take it from where the event is stored, not from where it is published. */
  readonly eventId?: string | undefined;
  /** ISO 8601 UTC when it is text. */
  readonly occurredAt?: Date | string | undefined;
  /** W3C trace context. */
  readonly traceparent?: string | undefined;
}

/** An envelope in the fast form: JSON texts for the two fields of a stream entry. */
export interface EncodedEnvelope {
  /** A JSON array: a replica finds out whether it holds a recipient without parsing the envelope. */
  readonly recipients: string;
  /** A JSON object without recipients. */
  readonly envelope: string;
}

const utf8 = new TextEncoder();

/** @throws InvalidEnvelopeError for what the gateway would not deliver */
export function encodeEnvelope(event: EventEnvelope): EncodedEnvelope {
  const { type, conversationId, eventId, traceparent } = event;
  require(typeof type === 'string' && type !== '', 'type_missing', 'an event needs a type');
  require(!isReservedType(type), 'type_reserved', `"${type}" is a name that the gateway itself sends`);
  require(conversationId === undefined || isId(conversationId), 'conversation_id_invalid', `the conversation id ${idRule}`);
  require(eventId === undefined || isText(eventId), 'event_id_invalid', 'the event id must be a text that is not empty');
  require(traceparent === undefined || isText(traceparent), 'traceparent_invalid', 'traceparent must be a text that is not empty');

  const recipients = encodeRecipients(event.recipients);
  const envelope = encodeFields({
    type,
    event_id: eventId,
    conversation_id: conversationId,
    occurred_at: encodeTime(event.occurredAt),
    traceparent,
    payload: event.payload,
  });
  const bytes = utf8.encode(envelope);
  requireSize(bytes.length, 'envelope');
  // The gateway's own decoder has the last word, whatever `toJSON` of a payload made of it.
  require(typeof decodeEnvelope(bytes, false) !== 'string', 'payload_invalid', `the payload of "${type}" must be a JSON object`);
  return { recipients, envelope };
}

const idRule = 'must be 1 to 128 UTF-16 units of well-formed Unicode without control characters';

function encodeRecipients(recipients: readonly string[]): string {
  require(Array.isArray(recipients), 'recipient_invalid', 'recipients must be a list of user ids');
  for (const [index, id] of recipients.entries()) require(isId(id), 'recipient_invalid', `recipient ${index} ${idRule}`);
  const json = JSON.stringify([...new Set(recipients)]);
  requireSize(utf8.encode(json).length, 'list of recipients');
  return json;
}

const isoUtc = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/;

function encodeTime(time: Date | string | undefined): string | undefined {
  if (time === undefined) return undefined;
  const isTime = time instanceof Date ? !Number.isNaN(time.getTime()) : typeof time === 'string' && isoUtc.test(time);
  require(isTime, 'occurred_at_invalid', 'occurredAt must be a date, or its ISO 8601 text in UTC');
  return time instanceof Date ? time.toISOString() : time;
}

function encodeFields(fields: object): string {
  try {
    return JSON.stringify(fields);
  } catch (cause) {
    throw new InvalidEnvelopeError('payload_invalid', 'the payload is nothing that JSON can say', { cause });
  }
}

function requireSize(bytes: number, what: string): void {
  require(bytes <= MAX_ENTRY_BYTES, 'oversized', `the ${what} has ${bytes} bytes, more than ${MAX_ENTRY_BYTES}`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function require(holds: boolean, reason: InvalidEnvelopeReason, message: string): asserts holds {
  if (!holds) throw new InvalidEnvelopeError(reason, message);
}

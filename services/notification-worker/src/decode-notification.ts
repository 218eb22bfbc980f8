import { isUtf8 } from 'node:buffer';
import {
  decodeEnvelope,
  decodeRecipients,
  type Envelope,
  isId,
  keyEquals,
  MAX_ENTRY_BYTES,
  type MalformedReason,
  stringAt,
  type UserId,
} from '@event-gateway/protocol';
import type { StreamItem } from '@event-gateway/redis';

/** A new message, and whom it may have to wake. */
export interface Notification {
  readonly entryId: string;
  /** What makes it the same message when it is published again: its own id, else the event's, else the entry's. */
  readonly messageId: string;
  readonly conversationId: string | undefined;
  readonly senderId: string | undefined;
  /** Without the sender. */
  readonly recipients: readonly UserId[];
}

/** `message.new` is what people are woken for; every other type is not looked at any further. */
export type Decoded = Notification | 'other_type' | { readonly malformed: MalformedReason };

const envelopeNames = ['envelope', 'event', 'data', 'payload'];

/** The same reading of an entry as the gateway's: both forms, every field name that a hand-written publisher may use. */
export function decodeNotification({ id, fields }: StreamItem): Decoded {
  const values = new Map<string, Buffer>();
  for (let at = 0; at + 1 < fields.length; at += 2) values.set(String(fields[at]), fields[at + 1] ?? Buffer.alloc(0));
  const recipientsField = values.get('recipients');
  const name = envelopeNames.find((candidate) => values.has(candidate));
  const envelopeField = name === undefined ? undefined : values.get(name);
  if (envelopeField === undefined) return { malformed: 'no_envelope' };
  if (envelopeField.length > MAX_ENTRY_BYTES || (recipientsField?.length ?? 0) > MAX_ENTRY_BYTES) return { malformed: 'oversized' };
  if (!isUtf8(envelopeField) || (recipientsField !== undefined && !isUtf8(recipientsField))) return { malformed: 'invalid_utf8' };

  const envelope = decodeEnvelope(envelopeField, recipientsField === undefined);
  if (typeof envelope === 'string') return { malformed: envelope };
  if (envelope.type !== 'message.new') return 'other_type';
  const recipients = recipientsField === undefined ? (envelope.recipients ?? []) : decodeRecipients(recipientsField);
  if (recipients === 'recipients_invalid') return { malformed: recipients };
  return {
    entryId: id,
    messageId: messageIdOf(envelope) ?? envelope.eventId ?? id,
    conversationId: envelope.conversationId,
    senderId: envelope.senderId,
    recipients: recipients.filter((recipient) => recipient !== envelope.senderId),
  };
}

function messageIdOf({ payload, payloadMembers }: Envelope): string | undefined {
  const member = payloadMembers?.findLast((candidate) => keyEquals(payload, candidate, 'id'));
  const id = member === undefined ? undefined : stringAt(payload, member.valueStart, member.valueEnd);
  return isId(id) ? id : undefined;
}

import type { Envelope, MalformedReason, StreamId, UserId } from '@event-gateway/protocol';
import { decodeEnvelopeBytes } from '../tail/decode-envelope.js';
import type { RecentEvent } from '../tail/event-segment.js';

/** An entry whose addressing can be read. */
export interface Addressed {
  /** The field's JSON; or the ids, when they came inside the envelope. */
  readonly recipients: Buffer | readonly UserId[];
  readonly envelope: Buffer;
  /** Set when the addressing could not be read without it. */
  readonly decoded: Envelope | undefined;
}

const recipientsName = Buffer.from('recipients');

/** The names under which publishers put the envelope; the first one present counts. */
const envelopeNames = ['envelope', 'event', 'data', 'payload'].map((name) => Buffer.from(name));

/**
 * Step 2: an entry's fields → where it goes. With a `recipients` field the envelope is not looked at: most entries concern
 * nobody here.
 */
export function decodeEntry(fields: readonly Buffer[], maxBytes: number): Addressed | MalformedReason {
  let recipients: Buffer | undefined;
  let envelope: Buffer | undefined;
  let rank = envelopeNames.length;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i];
    const value = fields[i + 1];
    if (name === undefined || value === undefined) break;
    if (recipients === undefined && isNamed(name, recipientsName)) {
      recipients = value;
      continue;
    }
    const found = envelopeNames.findIndex((candidate) => isNamed(name, candidate));
    if (found >= 0 && found < rank) {
      envelope = value;
      rank = found;
    }
  }
  if (envelope === undefined) return 'no_envelope';
  if (envelope.length > maxBytes || (recipients !== undefined && recipients.length > maxBytes)) return 'oversized';
  if (recipients !== undefined) return { recipients, envelope, decoded: undefined };
  const decoded = decodeEnvelopeBytes(envelope, true);
  if (typeof decoded === 'string') return decoded;
  return { recipients: decoded.recipients ?? [], envelope, decoded };
}

/** An entry as the tail keeps it. */
export function toEvent(id: StreamId, { recipients, envelope }: Addressed): RecentEvent {
  return { id, recipients: Buffer.isBuffer(recipients) ? recipients : Buffer.from(JSON.stringify(recipients)), envelope };
}

/** Names are a handful of bytes: a loop beats the call into native code that `equals` is. */
function isNamed(name: Buffer, expected: Buffer): boolean {
  if (name.length !== expected.length) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== expected[i]) return false;
  return true;
}

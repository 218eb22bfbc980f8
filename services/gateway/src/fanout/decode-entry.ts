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
    const found = rankOf(name);
    if (found < rank) {
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
export function toEvent(id: StreamId, entry: Addressed): RecentEvent {
  return { id, recipients: recipientsAsJson(entry), envelope: entry.envelope };
}

/** A JSON array of ids, whichever way the entry carried them. */
export function recipientsAsJson({ recipients }: Addressed): Buffer {
  return Buffer.isBuffer(recipients) ? recipients : Buffer.from(JSON.stringify(recipients));
}

/** Of the names for an envelope: the lower it is, the sooner it counts. */
function rankOf(name: Buffer): number {
  let rank = 0;
  for (const candidate of envelopeNames) {
    if (isNamed(name, candidate)) break;
    rank++;
  }
  return rank;
}

/** Names are a handful of bytes: a loop beats the call into native code that `equals` is. */
function isNamed(name: Buffer, expected: Buffer): boolean {
  if (name.length !== expected.length) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== expected[i]) return false;
  return true;
}

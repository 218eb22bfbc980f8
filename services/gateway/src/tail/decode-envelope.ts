import { isUtf8 } from 'node:buffer';
import { decodeEnvelope, type Envelope, type MalformedReason } from '@event-gateway/protocol';

/** An envelope's bytes → what they say, once somebody here is to be given it. */
export function decodeEnvelopeBytes(envelope: Buffer, needsRecipients: boolean): Envelope | MalformedReason {
  return isUtf8(envelope) ? decodeEnvelope(envelope, needsRecipients) : 'invalid_utf8';
}

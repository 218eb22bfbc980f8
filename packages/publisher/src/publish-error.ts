/** Why an envelope is not put on the bus: the gateway would call it malformed, or could not name it. */
export type InvalidEnvelopeReason =
  | 'type_missing'
  | 'type_reserved'
  | 'recipient_invalid'
  | 'user_id_invalid'
  | 'conversation_id_invalid'
  | 'event_id_invalid'
  | 'occurred_at_invalid'
  | 'traceparent_invalid'
  | 'payload_invalid'
  | 'oversized';

/** Thrown before anything is sent; trying again does not help. */
export class InvalidEnvelopeError extends Error {
  readonly code = 'INVALID_ENVELOPE';
  readonly retryable = false;
  readonly reason: InvalidEnvelopeReason;

  constructor(reason: InvalidEnvelopeReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'InvalidEnvelopeError';
    this.reason = reason;
  }
}

/**
 * The bus did not confirm. Whether it took the events is unknown, so publish the same ones again, with the same message ids and
 * event ids: clients drop what they already have.
 */
export class PublishError extends Error {
  readonly code = 'PUBLISH_FAILED';
  readonly retryable = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PublishError';
  }
}

/** How much may queue for one socket. */
export interface OutboxLimits {
  /** OUTBOX_MAX_BYTES. */
  readonly maxBytes: number;
}

/**
 * A durable frame fits when the queue is empty, whatever its size: an entry near the limit would else be told as a hole, be
 * asked for again, and be a hole again, for ever.
 */
export function durableFits(bufferedBytes: number, frameBytes: number, limits: OutboxLimits): boolean {
  return bufferedBytes === 0 || bufferedBytes + frameBytes <= limits.maxBytes;
}

/** Ephemeral frames give way first: they may only use the first quarter. */
export function ephemeralFits(bufferedBytes: number, frameBytes: number, limits: OutboxLimits): boolean {
  return bufferedBytes + frameBytes <= limits.maxBytes / 4;
}

/** Below half, a producer that waits for the socket (replay, sync) may go on. */
export function hasRoom(bufferedBytes: number, limits: OutboxLimits): boolean {
  return bufferedBytes <= limits.maxBytes / 2;
}

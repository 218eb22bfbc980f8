import { STREAM_START, type StreamId } from '@event-gateway/protocol';

const maxSequence = 2n ** 64n - 1n;

/** The highest id below this one; the stream's start has none and is returned itself. */
export function precedingId(id: StreamId): StreamId {
  const dash = id.indexOf('-');
  const ms = BigInt(id.slice(0, dash));
  const sequence = BigInt(id.slice(dash + 1));
  if (sequence > 0n) return `${ms}-${sequence - 1n}` as StreamId;
  return ms > 0n ? (`${ms - 1n}-${maxSequence}` as StreamId) : STREAM_START;
}

import { STREAM_START, type StreamId } from '@event-gateway/protocol';

const maxSequence = '18446744073709551615';

/** The greatest id below this one: whatever is complete after it holds the entry with this id. */
export function previousStreamId(id: StreamId): StreamId {
  const [ms = '0', sequence = '0'] = id.split('-');
  if (sequence !== '0') return `${ms}-${BigInt(sequence) - 1n}` as StreamId;
  return ms === '0' ? STREAM_START : (`${BigInt(ms) - 1n}-${maxSequence}` as StreamId);
}

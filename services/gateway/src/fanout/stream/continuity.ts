import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { precedingId } from '../../tail/preceding-id.js';

/** How far a replica has got. */
export interface Position {
  /** Everything up to here has been handled or declared lost. */
  readonly id: StreamId;
  /** How many entries had ever been added to the stream up to here; undefined while unknown. */
  readonly count: number | undefined;
}

/** What the stream looked like right after a read: the last handled entry is still there, or what there is instead. */
export type Evidence =
  | 'present'
  | {
      readonly entriesAdded: number;
      readonly length: number;
      /** '0-0' when the stream is empty. */
      readonly firstId: StreamId;
      /** Last id ever given. */
      readonly lastId: StreamId;
    };

export interface Continuity {
  /** Why entries may be missing between the position and what was read; undefined: none is. */
  readonly hole: 'trimmed' | 'stream_reset' | undefined;
  /** Where the reader stands right before what was read. */
  readonly before: Position;
}

/**
 * Proves that nothing was trimmed between a position and the batch that was read behind it, or says that there is a hole.
 *
 * Redis trims a stream from its head, so while the last handled entry exists nothing after it is missing. Once it is gone, counts
 * tell: if no more entries have left the stream than this replica has got past (and than the batch itself may have lost since it was
 * read), none of them was unread. XDEL makes entries leave that nobody needed; where that cannot be told apart, it counts as a hole:
 * a sync too many, never a loss in silence.
 *
 * @param ids of what was read, in order; empty when the read came back with nothing
 */
export function proveContinuity(position: Position, ids: readonly StreamId[], evidence: Evidence): Continuity {
  if (evidence === 'present') return { hole: undefined, before: position };
  const [firstRead] = ids;
  return firstRead === undefined ? proveIdle(position, evidence) : proveBatch(position, ids, firstRead, evidence);
}

type Gone = Exclude<Evidence, 'present'>;

function proveBatch(position: Position, ids: readonly StreamId[], firstRead: StreamId, evidence: Gone): Continuity {
  const removed = evidence.entriesAdded - evidence.length;
  const removedSinceRead = evidence.length === 0 ? ids.length : ids.filter((id) => compareStreamIds(id, evidence.firstId) < 0).length;
  // As many as were added up to right before the batch, unless XDEL took some from within.
  const countBefore = Math.max(0, removed - removedSinceRead);
  // Fewer have left than we have got past: then some of those must still be there, or this is not the stream that we have read.
  const hasOlder = evidence.length > 0 && compareStreamIds(evidence.firstId, position.id) <= 0;
  const isProven = position.count !== undefined && (countBefore === position.count || (countBefore < position.count && hasOlder));
  if (isProven) return { hole: undefined, before: position };
  return { hole: causeOf(position, evidence), before: { id: precedingId(firstRead), count: countBefore } };
}

function proveIdle(position: Position, evidence: Gone): Continuity {
  const isLast = compareStreamIds(evidence.lastId, position.id) === 0;
  if (isLast) return { hole: undefined, before: { id: position.id, count: evidence.entriesAdded } };
  // Something is there that the next read brings, with its own proof; or the last id was moved without adding anything.
  if (evidence.length > 0 || evidence.entriesAdded === position.count) return { hole: undefined, before: position };
  return { hole: causeOf(position, evidence), before: { id: evidence.lastId, count: evidence.entriesAdded } };
}

/** A stream to which less was ever added than this replica has read is another one under the same name. */
function causeOf({ count }: Position, { entriesAdded }: Gone): 'trimmed' | 'stream_reset' {
  return count !== undefined && entriesAdded < count ? 'stream_reset' : 'trimmed';
}

import { compareStreamIds, STREAM_START, type StreamId } from '@event-gateway/protocol';
import { decodeRangeReply, type Reader, type RedisCall, RedisReplyError } from '@event-gateway/redis';
import { ackPendingUpTo, countEntries } from './backlog.js';
import type { Position } from './continuity.js';
import { precedingId } from '../../tail/preceding-id.js';
import { type GroupState, inspectStream, type StreamState } from './stream-state.js';

export interface OpenGroupOptions {
  readonly stream: string;
  readonly group: string;
  readonly usesSharedGroup: boolean;
  readonly backlogMaxAgeMs: number;
}

/** Where a process begins to read. */
export interface Opening {
  readonly position: Position;
  /** Nothing at or below this id is of use to the tail: it is from before a loss, or was skipped. */
  readonly tailDownTo: StreamId;
  /** Entries that were too old to be delivered. */
  readonly skipped: number;
  /** The stream's last id at that moment. */
  readonly lastId: StreamId;
  /** What this replica has missed for certain while it was away. */
  readonly gap: 'stream_reset' | 'lost_writes' | undefined;
}

/**
 * Opens this replica's group when the process starts. A new group begins at the stream's end (see the decision record); an existing one
 * goes on before its first pending entry, unless that lies before a loss of writes or is too old.
 * @param lossBarrier where everybody went on after the last loss of writes
 * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
 */
export async function openGroup(reader: Reader, lossBarrier: Position | undefined, options: OpenGroupOptions): Promise<Opening> {
  const { stream, group, usesSharedGroup, backlogMaxAgeMs } = options;
  const state = await inspectStream(reader, stream, group);
  const atEnd = { id: state.lastId, count: state.entriesAdded };
  const opening = { tailDownTo: lossBarrier?.id ?? STREAM_START, lastId: state.lastId, skipped: 0, gap: undefined };
  if (state.group === undefined) {
    await createGroup(reader, options, atEnd);
    return { ...opening, position: atEnd };
  }
  if (usesSharedGroup) return { ...opening, position: atEnd };
  if (compareStreamIds(state.group.lastDeliveredId, state.lastId) > 0) {
    const position = { id: STREAM_START, count: 0 };
    await ackPendingUpTo(reader, stream, group, state.group.lastDeliveredId);
    await moveGroup(reader, options, position);
    return { ...opening, position, tailDownTo: STREAM_START, gap: 'stream_reset' };
  }
  const position = await findPosition(reader, stream, state.group);
  if (lossBarrier !== undefined && compareStreamIds(position.id, lossBarrier.id) < 0) {
    await ackPendingUpTo(reader, stream, group, lossBarrier.id);
    if (compareStreamIds(state.group.lastDeliveredId, lossBarrier.id) < 0) await moveGroup(reader, options, lossBarrier);
    return { ...opening, position: lossBarrier, tailDownTo: lossBarrier.id, gap: 'lost_writes' };
  }
  const cut = lowest(`${Math.max(0, state.nowMs - backlogMaxAgeMs)}-0` as StreamId, state.lastId);
  if (compareStreamIds(position.id, cut) >= 0) return { ...opening, position };
  return { ...opening, tailDownTo: cut, ...(await skipBacklog(reader, options, state, state.group, cut)) };
}

/** @throws RedisUnavailableError, RedisReplyError */
export function createGroup(reader: Reader, { stream, group }: { stream: string; group: string }, at: Position): Promise<void> {
  return run(reader, ['XGROUP', 'CREATE', stream, group, at.id, 'MKSTREAM', ...entriesRead(at)]);
}

/** @throws RedisUnavailableError, RedisReplyError */
export function moveGroup(reader: Reader, { stream, group }: { stream: string; group: string }, to: Position): Promise<void> {
  return run(reader, ['XGROUP', 'SETID', stream, group, to.id, ...entriesRead(to)]);
}

/** Without this, Redis's own count is unknown after the group has been put at an id, and its lag with it. */
function entriesRead({ count }: Position): (string | number)[] {
  return count === undefined ? [] : ['ENTRIESREAD', count];
}

async function run(reader: Reader, call: RedisCall): Promise<void> {
  const [reply] = await reader.run([call]);
  if (reply instanceof RedisReplyError) throw reply;
}

/** A predecessor acknowledged whole batches in order, so what is pending is the end of what was delivered. */
async function findPosition(reader: Reader, stream: string, group: GroupState): Promise<Position> {
  const { lastDeliveredId, entriesRead: read, pending, firstPendingId } = group;
  if (firstPendingId === undefined) return { id: lastDeliveredId, count: read };
  const [reply] = await reader.run([['XREVRANGE', stream, `(${firstPendingId}`, '-', 'COUNT', 1]]);
  if (reply instanceof RedisReplyError) throw reply;
  const [previous] = decodeRangeReply(reply);
  const id = previous === undefined ? precedingId(firstPendingId) : (previous.id as StreamId);
  return { id, count: read === undefined ? undefined : Math.max(0, read - pending) };
}

async function skipBacklog(
  reader: Reader,
  options: OpenGroupOptions,
  state: StreamState,
  group: GroupState,
  cut: StreamId,
): Promise<Pick<Opening, 'position' | 'skipped'>> {
  const { stream, group: name } = options;
  const acked = await ackPendingUpTo(reader, stream, name, cut);
  if (compareStreamIds(group.lastDeliveredId, cut) >= 0) {
    const count = group.entriesRead === undefined ? undefined : group.entriesRead - (group.pending - acked);
    return { position: { id: cut, count }, skipped: acked };
  }
  const unread = await countEntries(reader, stream, group.lastDeliveredId, cut);
  const removed = state.entriesAdded - state.length;
  const before = group.entriesRead ?? removed + (await countEntries(reader, stream, STREAM_START, group.lastDeliveredId));
  // What was trimmed unread before the cut is behind it, too.
  const position = { id: cut, count: Math.max(before, removed) + unread };
  await moveGroup(reader, options, position);
  return { position, skipped: acked + unread };
}

function lowest(a: StreamId, b: StreamId): StreamId {
  return compareStreamIds(a, b) < 0 ? a : b;
}

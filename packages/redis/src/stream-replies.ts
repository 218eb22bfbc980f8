import { UnexpectedReplyError } from './redis-errors.js';

/** An item of a stream as Redis replied it: name, value, name, value … */
export interface StreamItem {
  readonly id: string;
  readonly fields: readonly Buffer[];
}

/** An item of a consumer group's pending list; one that has left the stream meanwhile has no fields. */
export interface PendingItem {
  readonly id: string;
  readonly fields: readonly Buffer[] | undefined;
}

/**
 * Stream name → items, from a reply of XREADGROUP with Buffers; empty when nothing came before the read stopped blocking.
 * @throws UnexpectedReplyError
 */
export function decodeReadGroupReply(reply: unknown): ReadonlyMap<string, readonly PendingItem[]> {
  const streams = new Map<string, readonly PendingItem[]>();
  if (reply === null) return streams;
  if (!Array.isArray(reply)) throw new UnexpectedReplyError('XREADGROUP');
  for (const [stream, items] of reply as readonly [Buffer, RawItem[]][]) streams.set(stream.toString(), items.map(toPendingItem));
  return streams;
}

/** Items from a reply of XRANGE or XREVRANGE with Buffers, in the reply's order. @throws UnexpectedReplyError */
export function decodeRangeReply(reply: unknown): readonly StreamItem[] {
  if (!Array.isArray(reply)) throw new UnexpectedReplyError('XRANGE');
  return (reply as RawItem[]).map(([id, fields]) => ({ id: id.toString('latin1'), fields: fields ?? [] }));
}

/** The elements of a reply; none when it is no array. */
export function decodeArray(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

/** A flat reply of names and values (XINFO, HGETALL, a script's own) as a map; values stay what they are. */
export function decodePairs(reply: unknown): ReadonlyMap<string, unknown> {
  const pairs = new Map<string, unknown>();
  const items = decodeArray(reply);
  for (let index = 0; index + 1 < items.length; index += 2) pairs.set(String(items[index]), items[index + 1]);
  return pairs;
}

type RawItem = readonly [id: Buffer, fields: readonly Buffer[] | null];

function toPendingItem([id, fields]: RawItem): PendingItem {
  return { id: id.toString('latin1'), fields: fields ?? undefined };
}

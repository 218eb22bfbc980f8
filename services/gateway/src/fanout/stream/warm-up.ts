import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { decodeRangeReply, type Reader, RedisReplyError, type StreamItem } from '@event-gateway/redis';
import type { StreamEntry, TailWarmer } from '../event-source.js';

export interface WarmUpOptions {
  readonly stream: string;
  readonly batchEntries: number;
}

/**
 * Fills the tail with what was in the stream before this process, backwards from where reading begins. The group stands at that id
 * already, so nothing falls between the two.
 * @param downTo nothing at or below this id is wanted
 * @throws RedisUnavailableError, RedisReplyError
 */
export async function warmUp(reader: Reader, warmer: TailWarmer, from: StreamId, downTo: StreamId, options: WarmUpOptions): Promise<void> {
  warmer.startAt(from);
  let end = from as string;
  for (;;) {
    const [reply] = await reader.run([['XREVRANGE', options.stream, end, '-', 'COUNT', options.batchEntries]]);
    if (reply instanceof RedisReplyError) throw reply;
    const items = decodeRangeReply(reply);
    const wanted = items.filter(({ id }) => compareStreamIds(id, downTo) > 0);
    const isMoreWanted = wanted.length === 0 || warmer.prepend(toEntries(wanted));
    const oldest = items.at(-1);
    if (oldest === undefined || !isMoreWanted || wanted.length < items.length || items.length < options.batchEntries) return;
    end = `(${oldest.id}`;
  }
}

/** Ids of Redis are canonical. */
function toEntries(items: readonly StreamItem[]): readonly StreamEntry[] {
  return items as readonly (StreamItem & { readonly id: StreamId })[];
}

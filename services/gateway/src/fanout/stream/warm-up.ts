import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { decodeRangeReply, type Reader, RedisReplyError, type StreamItem } from '@event-gateway/redis';
import type { StreamEntry, TailWarmer } from '../event-source.js';
import { maxReplyBytes, ReadSize } from './read-size.js';

export interface WarmUpOptions {
  readonly stream: string;
  readonly batchEntries: number;
}

/** Before their size is known. */
const firstEntries = 16;

/**
 * Fills the tail with what was in the stream before this process, backwards from where reading begins. The group stands at that id
 * already, so nothing falls between the two.
 * @param downTo nothing at or below this id is wanted
 * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
 */
export async function warmUp(
  reader: Pick<Reader, 'run' | 'bytesRead'>,
  warmer: TailWarmer,
  from: StreamId,
  downTo: StreamId,
  options: WarmUpOptions,
): Promise<void> {
  warmer.startAt(from);
  const size = new ReadSize({
    maxEntries: options.batchEntries,
    maxBytes: maxReplyBytes,
    firstEntries: Math.min(firstEntries, options.batchEntries),
  });
  let end = from as string;
  for (;;) {
    const count = size.entries;
    const before = reader.bytesRead;
    const [reply] = await reader.run([['XREVRANGE', options.stream, end, '-', 'COUNT', count]]);
    if (reply instanceof RedisReplyError) throw reply;
    const items = decodeRangeReply(reply);
    size.learn(items.length, reader.bytesRead - before);
    const wanted = items.filter(({ id }) => compareStreamIds(id, downTo) > 0);
    const isMoreWanted = wanted.length === 0 || warmer.prepend(toEntries(wanted));
    const oldest = items.at(-1);
    if (oldest === undefined || !isMoreWanted || wanted.length < items.length || items.length < count) return;
    end = `(${oldest.id}`;
  }
}

/** Ids of Redis are canonical. */
function toEntries(items: readonly StreamItem[]): readonly StreamEntry[] {
  return items as readonly (StreamItem & { readonly id: StreamId })[];
}

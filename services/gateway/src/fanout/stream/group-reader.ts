import type { StreamId } from '@event-gateway/protocol';
import { decodeReadGroupReply, keys, type PendingItem, type Reader, type RedisCall, RedisReplyError } from '@event-gateway/redis';
import type { Evidence, Position } from './continuity.js';
import type { EpochSighting } from './epoch.js';
import { maxReplyBytes, ReadSize } from './read-size.js';
import { continuityEvidence, decodeEvidence } from './stream-state.js';

export interface GroupReaderOptions {
  readonly stream: string;
  readonly canaryStream: string;
  readonly group: string;
  readonly consumer: string;
  readonly batchEntries: number;
}

/** What one round trip brought. */
export interface Read {
  readonly items: readonly PendingItem[];
  /** There may be more at once. */
  readonly isFull: boolean;
  readonly evidence: Evidence;
  readonly epoch: EpochSighting;
  readonly canaryIds: readonly string[];
}

/** The reads of one connection. Acknowledgements and corrections of the group travel with the next read: no round trip of their own. */
export class GroupReader {
  readonly #reader: Reader;
  readonly #options: GroupReaderOptions;
  readonly #queued: RedisCall[] = [];
  readonly #size: ReadSize;

  constructor(reader: Reader, options: GroupReaderOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#size = new ReadSize({ maxEntries: options.batchEntries, maxBytes: maxReplyBytes });
  }

  /** With the next read, in one XACK. */
  ack(items: readonly PendingItem[]): void {
    if (items.length === 0) return;
    const { stream, group } = this.#options;
    this.#queued.push(['XACK', stream, group, ...items.map(({ id }) => id)]);
  }

  /** With the next read. */
  ackCanaries(ids: readonly string[]): void {
    const { canaryStream, group } = this.#options;
    if (ids.length > 0) this.#queued.push(['XACK', canaryStream, group, ...ids]);
  }

  /** With the next read: what the group has been delivered ends here, so that Redis's own figures are right. */
  setPosition({ id, count }: Position): void {
    const { stream, group } = this.#options;
    this.#queued.push(['XGROUP', 'SETID', stream, group, id, ...(count === undefined ? [] : ['ENTRIESREAD', count])]);
  }

  /** A page of what was delivered to this consumer and never acknowledged. @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError */
  readPending(afterId: StreamId, handledId: StreamId): Promise<Read | 'no_group'> {
    const { stream, group, consumer } = this.#options;
    return this.#read(['XREADGROUP', 'GROUP', group, consumer, 'COUNT', this.#size.entries, 'STREAMS', stream, afterId], 0, handledId);
  }

  /**
   * What is new, or nothing after `blockMs`; the canary comes the same way.
   * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
   */
  readNew(blockMs: number, handledId: StreamId): Promise<Read | 'no_group'> {
    const { stream, canaryStream, group, consumer } = this.#options;
    const source = ['STREAMS', stream, canaryStream, '>', '>'];
    const call: RedisCall = ['XREADGROUP', 'GROUP', group, consumer, 'COUNT', this.#size.entries, 'BLOCK', blockMs, ...source];
    return this.#read(call, blockMs, handledId);
  }

  /** Sends what is queued without a read. @throws RedisUnavailableError */
  async flush(): Promise<void> {
    if (this.#queued.length > 0) await this.#reader.run(this.#queued.splice(0));
  }

  async #read(call: RedisCall, blockMs: number, handledId: StreamId): Promise<Read | 'no_group'> {
    const { stream, canaryStream } = this.#options;
    const queued = this.#queued.splice(0);
    const proof: RedisCall = ['EVALSHA', continuityEvidence.sha, 2, stream, keys.epoch(stream), handledId];
    const before = this.#reader.bytesRead;
    const replies = await this.#reader.run([...queued, call, proof], blockMs);
    const [read, proven] = replies.slice(queued.length);
    const failures = replies.filter((reply) => reply instanceof RedisReplyError);
    if (failures.some(({ code }) => isGroupGone(code))) return 'no_group';
    const failure = failures.find(({ code }) => code !== 'NOSCRIPT');
    if (failure !== undefined) throw failure;
    const streams = decodeReadGroupReply(read);
    const items = streams.get(stream) ?? [];
    const isFull = items.length >= this.#size.entries;
    this.#size.learn(items.length, this.#reader.bytesRead - before);
    return {
      items,
      isFull,
      ...decodeEvidence(proven instanceof RedisReplyError ? await this.#askAgain(handledId) : proven),
      canaryIds: (streams.get(canaryStream) ?? []).map(({ id }) => id),
    };
  }

  /** The server does not know the script (yet). */
  #askAgain(handledId: StreamId): Promise<unknown> {
    const { stream } = this.#options;
    return this.#reader.runScript(continuityEvidence, [stream, keys.epoch(stream)], [handledId]);
  }
}

/** What a read says whose group, or whose stream, is not there (any more); the second one while it was blocking. */
function isGroupGone(code: string): boolean {
  return code === 'NOGROUP' || code === 'UNBLOCKED';
}

import {
  type CommandRedis,
  decodePairs,
  decodeRangeReply,
  decodeReadGroupReply,
  type PendingItem,
  type Reader,
  type RedisCall,
  RedisReplyError,
} from '@event-gateway/redis';
import type { Clock } from '@event-gateway/runtime';

export interface WorkQueueOptions {
  readonly stream: string;
  readonly group: string;
  readonly worker: string;
  readonly batchEntries: number;
  readonly blockMs: number;
  /** An entry that a worker has had for this long without an end is taken over. */
  readonly claimIdleMs: number;
}

/** A worker that has not read for this long and holds nothing is gone. */
const forgetWorkerMs = 3_600_000;

/**
 * One consumer group that several workers share. Batches come in this order: what this worker had taken before (it may have crashed, or
 * an answer may have been lost with its connection), then what dead workers left behind, then what is new.
 */
export class WorkQueue {
  readonly #redis: CommandRedis;
  readonly #newReader: () => Reader;
  readonly #clock: Clock;
  readonly #options: WorkQueueOptions;
  #reader: Reader | undefined;
  /** Where the walk through this worker's own entries stands; undefined when it is through. */
  #ownAfter: string | undefined;
  #claimFrom = '0-0';
  #claimAtMs = 0;
  #lastId = '$';

  constructor(redis: CommandRedis, newReader: () => Reader, clock: Clock, options: WorkQueueOptions) {
    this.#redis = redis;
    this.#newReader = newReader;
    this.#clock = clock;
    this.#options = options;
  }

  /** The next batch; empty when nothing came within the block. @throws RedisUnavailableError, RedisReplyError */
  async next(): Promise<readonly PendingItem[]> {
    const reader = await this.#openReader();
    try {
      const own = await this.#nextOwn(reader);
      if (own.length > 0) return own;
      const abandoned = await this.#nextAbandoned();
      if (abandoned.length > 0) return abandoned;
      const fresh = await this.#read(reader, '>', this.#options.blockMs);
      this.#lastId = fresh.at(-1)?.id ?? this.#lastId;
      return fresh;
    } catch (error) {
      // Whoever opens anew makes the group again.
      if (error instanceof RedisReplyError && error.code === 'NOGROUP') reader.close();
      throw error;
    }
  }

  async ack(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#redis.call('XACK', this.#options.stream, this.#options.group, ...ids);
  }

  /** Leaves the group, unless something is still in this worker's hands: then its name must stay for others to take it over. */
  async leave(): Promise<void> {
    const { stream, group, worker } = this.#options;
    const pending = await this.#redis.call('XPENDING', stream, group, '-', '+', 1, worker);
    if (Array.isArray(pending) && pending.length === 0) await this.#redis.call('XGROUP', 'DELCONSUMER', stream, group, worker);
  }

  close(): void {
    this.#reader?.close();
  }

  async #openReader(): Promise<Reader> {
    if (this.#reader?.isOpen === true) return this.#reader;
    const reader = this.#newReader();
    await reader.open();
    await this.#ensureGroup(reader);
    this.#ownAfter = '0-0';
    this.#reader = reader;
    return reader;
  }

  /** A new group begins at the stream's end: nobody is woken for what is over. One that vanished begins where this worker was. */
  async #ensureGroup(reader: Reader): Promise<void> {
    const { stream, group } = this.#options;
    const [reply] = await reader.run([['XGROUP', 'CREATE', stream, group, this.#lastId, 'MKSTREAM']]);
    if (!(reply instanceof RedisReplyError) || reply.code === 'BUSYGROUP') return;
    reader.close();
    throw reply;
  }

  async #nextOwn(reader: Reader): Promise<readonly PendingItem[]> {
    if (this.#ownAfter === undefined) return [];
    const own = await this.#read(reader, this.#ownAfter);
    this.#ownAfter = own.at(-1)?.id;
    return own;
  }

  async #nextAbandoned(): Promise<readonly PendingItem[]> {
    if (this.#clock.nowMs() < this.#claimAtMs) return [];
    const { stream, group, worker, claimIdleMs, batchEntries } = this.#options;
    const reply = await this.#redis.callBuffer('XAUTOCLAIM', stream, group, worker, claimIdleMs, this.#claimFrom, 'COUNT', batchEntries);
    const [next, items] = Array.isArray(reply) ? (reply as unknown[]) : [];
    this.#claimFrom = Buffer.isBuffer(next) ? next.toString() : '0-0';
    // The walk through all pending entries is over: rest until some can have become old enough.
    if (this.#claimFrom === '0-0') {
      this.#claimAtMs = this.#clock.nowMs() + claimIdleMs / 2;
      await this.#forgetWorkers();
    }
    return decodeRangeReply(items);
  }

  async #read(reader: Reader, after: string, blockMs?: number): Promise<readonly PendingItem[]> {
    const { stream, group, worker, batchEntries } = this.#options;
    const block = blockMs === undefined ? [] : ['BLOCK', blockMs];
    const call: RedisCall = ['XREADGROUP', 'GROUP', group, worker, 'COUNT', batchEntries, ...block, 'STREAMS', stream, after];
    const [reply] = await reader.run([call], blockMs);
    if (reply instanceof RedisReplyError) throw reply;
    return decodeReadGroupReply(reply).get(stream) ?? [];
  }

  async #forgetWorkers(): Promise<void> {
    const { stream, group, worker } = this.#options;
    const reply = await this.#redis.call('XINFO', 'CONSUMERS', stream, group);
    for (const consumer of (Array.isArray(reply) ? reply : []).map(decodePairs)) {
      const [name, pending, idleMs] = [String(consumer.get('name')), Number(consumer.get('pending')), Number(consumer.get('idle'))];
      if (name !== worker && pending === 0 && idleMs > forgetWorkerMs) await this.#redis.call('XGROUP', 'DELCONSUMER', stream, group, name);
    }
  }
}

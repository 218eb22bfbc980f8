import { asStreamId, compareStreamIds, STREAM_START, type StreamId, type UserId } from '@event-gateway/protocol';
import {
  type CommandRedis,
  decodePairs,
  decodeRangeReply,
  RedisReplyError,
  RedisUnavailableError,
  type StreamItem,
  UnexpectedReplyError,
} from '@event-gateway/redis';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import { type Matchable, RecipientMatcher } from '../hub/match-recipients.js';
import type { MissedEvent } from '../tail/event-segment.js';
import { decodeEntry } from './decode-entry.js';
import type { EventSource } from './event-source.js';
import { ReadSize } from './stream/read-size.js';

export interface StreamHistoryDeps {
  readonly redis: CommandRedis;
  /** What is known of the stream without asking. */
  readonly source: Pick<EventSource, 'isFromLostEpoch' | 'whoIsLast'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface StreamHistoryOptions {
  readonly stream: string;
  readonly maxEntryBytes: number;
}

/** A page comes over the connection that everything else is asked on, and must not hold it up. */
const pageEntries = 500;
const pageBytes = 1024 * 1024;
/** Before the size of entries is known. */
const firstPageEntries = 16;
/** Beyond either of these a sync is cheaper than the walk, for Redis and for us. What a walk has found is less than it has read. */
const maxWalkEntries = 10_000;
const maxWalkBytes = 16 * 1024 * 1024;
/** Walks at the same time, for the whole replica: a storm of old cursors must not become a storm on Redis. */
const maxWalks = 4;
const maxWaiting = 256;

/** What the stream still holds from before the tail, for the few cursors that are older than it. */
export class StreamHistory {
  readonly #deps: StreamHistoryDeps;
  readonly #options: StreamHistoryOptions;
  readonly #log: RateLimitedLog;
  /** What one walk has learned of the entries' size is good for the next. */
  readonly #pageSize = new ReadSize({ maxEntries: pageEntries, maxBytes: pageBytes, firstEntries: firstPageEntries });
  #walks = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(deps: StreamHistoryDeps, options: StreamHistoryOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#log = new RateLimitedLog(deps.logger, deps.clock);
  }

  isFromLostEpoch(cursor: StreamId): boolean {
    return this.#deps.source.isFromLostEpoch(cursor);
  }

  /** Undefined when Redis does not answer, or refuses to. */
  lastId(): Promise<StreamId | undefined> {
    return this.#deps.source.whoIsLast();
  }

  /**
   * The user's events after `cursor`, up to where the tail begins. Undefined when it cannot be proven that the stream still has
   * all of them, when that is more than a walk may cost, when too many walk already, or when Redis does not answer or refuses to: a
   * stream that was deleted is not there to be asked until the reader has made it anew.
   */
  async walk(cursor: StreamId, userId: UserId, until: () => StreamId): Promise<{ events: MissedEvent[]; upTo: StreamId } | undefined> {
    if (!(await this.#enter())) return undefined;
    try {
      return await this.#collect(cursor, userId, until);
    } catch (error) {
      if (error instanceof RedisUnavailableError) return undefined;
      if (!(error instanceof RedisReplyError || error instanceof UnexpectedReplyError)) throw error;
      this.#log.warn({ error }, 'the stream cannot be read for a resume');
      return undefined;
    } finally {
      this.#leave();
    }
  }

  /** Trimming takes from the head: while the head is not above the cursor, nothing after the cursor is gone. */
  async #hasAllAfter(cursor: StreamId): Promise<boolean> {
    const info = decodePairs(await this.#deps.redis.call('XINFO', 'STREAM', this.#options.stream));
    const first = info.get('first-entry');
    const firstId = Array.isArray(first) ? asStreamId(first[0]) : undefined;
    if (firstId !== undefined && compareStreamIds(firstId, cursor) <= 0) return true;
    return cursor === STREAM_START && info.get('length') === info.get('entries-added');
  }

  /** Entries above `after`, oldest first. */
  async #page(after: StreamId, count: number): Promise<readonly StreamItem[]> {
    return decodeRangeReply(await this.#deps.redis.callBuffer('XRANGE', this.#options.stream, `(${after}`, '+', 'COUNT', count));
  }

  async #collect(cursor: StreamId, userId: UserId, until: () => StreamId): Promise<{ events: MissedEvent[]; upTo: StreamId } | undefined> {
    const events: MissedEvent[] = [];
    const viewer: Matchable = { matchStamp: 0 };
    const matcher = new RecipientMatcher({ mayHave: () => true, get: (id) => (id === userId ? viewer : undefined) });
    let upTo = cursor;
    let entriesLeft = maxWalkEntries;
    let bytesLeft = maxWalkBytes;
    while (entriesLeft > 0 && bytesLeft > 0) {
      const count = this.#pageSize.entries;
      const entries = await this.#page(upTo, count);
      const bytes = bytesOf(entries);
      this.#pageSize.learn(entries.length, bytes);
      entriesLeft -= entries.length;
      bytesLeft -= bytes;
      // Asked after the page was read: had the head been trimmed past its beginning by then, it would show now.
      if (!(await this.#hasAllAfter(upTo))) return undefined;
      for (const { id, fields } of entries) {
        const entry = decodeEntry(fields, this.#options.maxEntryBytes);
        const streamId = asStreamId(id);
        if (streamId === undefined) continue;
        upTo = streamId;
        const found = typeof entry === 'string' ? entry : matcher.match(entry.recipients);
        // A copy: the entry is a part of the whole page, which would stay as long as the client takes to be sent it.
        if (typeof entry !== 'string' && typeof found !== 'string' && found.length > 0) {
          events.push({ id: streamId, envelope: Buffer.from(entry.envelope) });
        }
        if (compareStreamIds(upTo, until()) >= 0) return { events, upTo };
      }
      if (entries.length < count) return { events, upTo: maxId(upTo, until()) };
    }
    return undefined;
  }

  async #enter(): Promise<boolean> {
    if (this.#walks < maxWalks) {
      this.#walks++;
      return true;
    }
    if (this.#waiting.length >= maxWaiting) return false;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return true;
  }

  /** The place goes to the next in line, if there is one. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#walks--;
    else next();
  }
}

function bytesOf(entries: readonly StreamItem[]): number {
  let bytes = 0;
  for (const { fields } of entries) for (const field of fields) bytes += field.length;
  return bytes;
}

function maxId(a: StreamId, b: StreamId): StreamId {
  return compareStreamIds(a, b) >= 0 ? a : b;
}

import type { StreamId } from '@event-gateway/protocol';

/** One item of the bus, not yet decoded. */
export interface StreamEntry {
  /** Its stream id; null in pub/sub mode. */
  readonly id: StreamId | null;
  /** name, value, name, value … */
  readonly fields: readonly Buffer[];
}

/** A hole in what this replica has seen of the bus. */
export interface Gap {
  /** `trimmed`: entries left the stream before they were read here. `gap`: they were lost with Redis's data, or never kept (pub/sub). */
  readonly reason: 'trimmed' | 'gap';
  /**
   * Where the position stands after the hole: whatever comes next has a higher id, and everything up to here has been handled or is
   * declared lost. It may be lower than ids handled before (a stream that began anew). Null in pub/sub mode.
   */
  readonly cursor: StreamId | null;
  /** Redis came back with less than it had: whatever else is kept there may be gone as well. */
  readonly isDataLost: boolean;
}

/**
 * Takes what the source reads. Never called concurrently: the source awaits `handle`, and `gap` and `skipped` come between batches.
 * Ids rise strictly from call to call, except that a gap may assign a lower position.
 */
export interface BatchHandler {
  /** Resolves when everything of the batch has been flushed to the sockets; the source then acknowledges it. Never rejects for one entry. */
  handle(batch: readonly StreamEntry[]): Promise<void>;
  /** Synchronous, in stream order, before the first entry from behind the hole: resets the tail to the cursor and tells every connection. */
  gap(gap: Gap): void;
  /** Entries that were too old to be delivered at the start. */
  skipped(count: number): void;
}

/** The tail of recent events, while it is filled before reading begins. */
export interface TailWarmer {
  /** The tail is empty and complete after this id. */
  startAt(id: StreamId): void;
  /** Older entries, newest first, directly before what it holds. False: it is full or has gone back far enough. */
  prepend(entriesNewestFirst: readonly StreamEntry[]): boolean;
}

/** Why a source is not ready to serve. */
export type SourceReason = 'fence' | 'backlog' | 'redis';

/** Where events come from: this replica's consumer group, or pub/sub. */
export interface EventSource {
  /** Begins to read, as soon as Redis (and the fence) allow it. */
  start(): void;
  /** Reads nothing more; resolves when the batch under way is handled and acknowledged. */
  drain(): Promise<void>;
  stop(): Promise<void>;
  /** The cursor may be from before a loss of data: nothing shows what has been published after it. */
  isFromLostEpoch(cursor: StreamId): boolean;
  /** Why it is not ready; none when it has caught up at least once and reads. */
  unreadyReasons(): readonly SourceReason[];
  /** The stream's last id as Redis knows it now; undefined when it cannot be told. */
  whoIsLast(): Promise<StreamId | undefined>;
}

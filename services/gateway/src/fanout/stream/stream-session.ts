import { compareStreamIds, STREAM_START, type StreamId } from '@event-gateway/protocol';
import { keys, type PendingItem, type Reader, RedisReplyError } from '@event-gateway/redis';
import { Backoff, type Clock, type Logger, type RateLimitedLog } from '@event-gateway/runtime';
import type { BatchHandler, StreamEntry, TailWarmer } from '../event-source.js';
import { type Position, proveContinuity } from './continuity.js';
import type { Epoch } from './epoch.js';
import { GroupReader, type Read } from './group-reader.js';
import { createGroup, moveGroup, openGroup } from './open-group.js';
import type { CanaryListener, ReaderFence } from './ports.js';
import type { ReadPace } from './read-pace.js';
import type { GapCause, StreamMetrics } from './stream-metrics.js';
import { inspectStream, type StreamState } from './stream-state.js';
import { warmUp } from './warm-up.js';

export interface StreamSessionOptions {
  readonly replicaId: string;
  readonly stream: string;
  readonly group: string;
  readonly consumer: string;
  readonly usesSharedGroup: boolean;
  readonly batchEntries: number;
  readonly readBlockMs: number;
  readonly backlogMaxAgeMs: number;
}

/** What outlives a connection. */
export interface ReadingState {
  /** Undefined until the group has been opened by this process. */
  position: Position | undefined;
  /** The stream's last id at that moment. */
  startLastId: StreamId | undefined;
  /** Everything that was there at the start has been handled. */
  hasCaughtUp: boolean;
  isDraining: boolean;
  /** Somebody else has changed the epoch. */
  mustSettle: boolean;
}

export interface StreamSessionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For what can go on for as long as its cause does. */
  readonly limitedLog: RateLimitedLog;
  readonly handler: BatchHandler;
  readonly warmer: TailWarmer;
  readonly fence: ReaderFence;
  readonly canary: CanaryListener;
  readonly epoch: Epoch;
  readonly pace: ReadPace;
  readonly metrics: StreamMetrics;
}

/** The lease may have lapsed, as far as this process can know: nothing is read or handed on until it is confirmed. */
export class LeaseLapsedError extends Error {
  readonly code = 'LEASE_LAPSED';
}

/** Starting over is the answer to a change, and a change is told by itself; so many times in a row it is a fault that goes on. */
const maxStarts = 3;

/** The canary's stream has its own life: it must not outlive a replica for long. */
const canaryTtlMs = 3_600_000;

/**
 * One connection's work: find out where the stream, the group and the epoch stand, then what is pending, then what is new. Whenever the
 * group turns out to be gone or the epoch another one, it starts over from the first step.
 */
export class StreamSession {
  readonly #reader: Reader;
  readonly #group: GroupReader;
  readonly #state: ReadingState;
  readonly #deps: StreamSessionDeps;
  readonly #options: StreamSessionOptions;
  readonly #signal: AbortSignal;
  /** NOGROUP comes back at once, so BLOCK does not throttle it. */
  readonly #settleBackoff = new Backoff({ minMs: 20, maxMs: 2000 });
  /** Up to where Redis had delivered to the group when this connection began. */
  #lastDeliveredId: StreamId = STREAM_START;
  #needsCorrection = false;
  /** Since anything was last read. */
  #starts = 0;

  constructor(reader: Reader, state: ReadingState, deps: StreamSessionDeps, options: StreamSessionOptions, signal: AbortSignal) {
    this.#reader = reader;
    this.#state = state;
    this.#deps = deps;
    this.#options = options;
    this.#signal = signal;
    this.#group = new GroupReader(reader, { ...options, canaryStream: keys.canary(options.replicaId) });
  }

  /**
   * Resolves when the source drains. @param onReading called whenever reading (again) begins
   * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError, LeaseLapsedError
   */
  async run(onReading: () => void): Promise<void> {
    for (;;) {
      if (++this.#starts > maxStarts) this.#deps.limitedLog.warn({ starts: this.#starts }, 'reading starts over and over');
      await this.#settle();
      onReading();
      const isDrained = (await this.#deliverPending()) && (await this.#deliverNew());
      if (isDrained) break;
      await this.#deps.clock.sleep(this.#settleBackoff.next(), this.#signal);
    }
    await this.#group.flush();
  }

  async #settle(): Promise<void> {
    this.#state.mustSettle = false;
    const { epoch } = this.#deps;
    const { position } = this.#state;
    const outcome = await epoch.settle(this.#reader, position?.id);
    if (position === undefined) await this.#begin();
    else {
      // Told before anything else can fail: the epoch will not say so a second time.
      if (outcome === 'lost' && epoch.lossBarrier !== undefined) this.#tellGap('lost_writes', epoch.lossBarrier);
      await this.#continue(outcome === 'lost');
    }
    await this.#openCanary();
  }

  async #begin(): Promise<void> {
    const { epoch, warmer, handler, logger, metrics } = this.#deps;
    const { position, lastId, tailDownTo, skipped, gap } = await openGroup(this.#reader, epoch.lossBarrier, this.#options);
    if (compareStreamIds(position.id, tailDownTo) <= 0) warmer.startAt(position.id);
    else await warmUp(this.#reader, warmer, position.id, tailDownTo, this.#options);
    if (skipped > 0) handler.skipped(skipped);
    if (gap !== undefined) metrics.gap(gap);
    this.#state.position = position;
    this.#state.startLastId = lastId;
    logger.info({ position: position.id, skipped }, 'reading begins');
  }

  /** The group of a process that has read before, on a new connection or after it vanished. */
  async #continue(isAfterLoss: boolean): Promise<void> {
    const { stream, group, usesSharedGroup } = this.#options;
    const state = await inspectStream(this.#reader, stream, group);
    // After a loss without a barrier the stream has begun anew since.
    const isUntold = isAfterLoss && this.#deps.epoch.lossBarrier === undefined;
    if (isUntold || this.#isAnotherStream(state)) return this.#startOver(state);
    const position = this.#position();
    if (state.group === undefined) {
      await createGroup(this.#reader, this.#options, position);
      this.#lastDeliveredId = position.id;
      if (isAfterLoss) return;
      this.#deps.metrics.gap('group_lost');
      this.#deps.logger.warn({ position: position.id }, 'the consumer group was gone, it goes on where it was');
      return;
    }
    this.#lastDeliveredId = state.group.lastDeliveredId;
    if (!usesSharedGroup && compareStreamIds(this.#lastDeliveredId, position.id) < 0)
      await moveGroup(this.#reader, this.#options, position);
  }

  #isAnotherStream({ exists, lastId, entriesAdded }: StreamState): boolean {
    const { id, count } = this.#position();
    if (compareStreamIds(id, STREAM_START) === 0) return false;
    return !exists || compareStreamIds(lastId, id) < 0 || (count !== undefined && entriesAdded < count);
  }

  /** The stream was deleted, or began anew on a host with a slower clock: whatever is in it has not been read. */
  async #startOver(state: StreamState): Promise<void> {
    const start: Position = { id: STREAM_START, count: 0 };
    await this.#deps.epoch.forgetUpTo(this.#reader, this.#position().id);
    this.#tellGap('stream_reset', start);
    if (state.group === undefined) await createGroup(this.#reader, this.#options, start);
    else if (!this.#options.usesSharedGroup) await moveGroup(this.#reader, this.#options, start);
    this.#lastDeliveredId = start.id;
  }

  async #openCanary(): Promise<void> {
    const canaryStream = keys.canary(this.#options.replicaId);
    // An old canary says nothing about this connection.
    const replies = await this.#reader.run([
      ['DEL', canaryStream],
      ['XGROUP', 'CREATE', canaryStream, this.#options.group, 0, 'MKSTREAM'],
      ['PEXPIRE', canaryStream, canaryTtlMs],
    ]);
    // Without it every read would say that the group is gone.
    for (const reply of replies) if (reply instanceof RedisReplyError) throw reply;
  }

  /** @returns false when everything has to be settled again */
  async #deliverPending(): Promise<boolean> {
    let after: StreamId = STREAM_START;
    for (;;) {
      this.#requireLease();
      const read = await this.#group.readPending(after, this.#position().id);
      if (read === 'no_group' || this.#isOtherEpoch(read)) return false;
      const last = read.items.at(-1);
      if (last === undefined) break;
      await this.#take(read);
      after = last.id as StreamId;
    }
    // Delivered, but neither handled nor pending (someone deleted the consumer): read once more.
    const isAhead = compareStreamIds(this.#lastDeliveredId, this.#position().id) > 0;
    if (isAhead && !this.#options.usesSharedGroup) this.#needsCorrection = true;
    this.#correctGroup();
    return true;
  }

  /** @returns true when the source drains, false when everything has to be settled again */
  async #deliverNew(): Promise<boolean> {
    const { clock, canary, pace } = this.#deps;
    const { readBlockMs } = this.#options;
    // The first read only looks: whether there is a backlog must not be known as late as the next entry comes.
    let maxBlockMs = 1;
    while (!this.#state.isDraining) {
      if (this.#state.mustSettle) return false;
      const sentAtMs = clock.nowMs();
      const read = await this.#group.readNew(Math.min(maxBlockMs, this.#requireLease()), this.#position().id);
      if (read === 'no_group' || this.#isOtherEpoch(read)) return false;
      maxBlockMs = readBlockMs;
      this.#settleBackoff.reset();
      this.#starts = 0;
      await this.#take(read);
      this.#correctGroup();
      for (const id of read.canaryIds) canary.seen(id);
      this.#group.ackCanaries(read.canaryIds);
      if (!read.isFull) this.#state.hasCaughtUp = true;
      const waitMs = pace.waitMs(read.items.length, read.isFull, sentAtMs, clock.nowMs());
      if (waitMs > 0) await clock.sleep(waitMs, this.#signal);
    }
    return true;
  }

  /** Then what it brought may be from behind a hole: it waits among what is pending until the hole has been told. */
  #isOtherEpoch({ epoch }: Read): boolean {
    return this.#deps.epoch.sighted(epoch);
  }

  /** Proves, tells, hands on, and acknowledges with the next read. */
  async #take(read: Read): Promise<void> {
    this.#requireLease();
    const { items } = read;
    const { id: handledId } = this.#position();
    const isFresh = (item: PendingItem): boolean => compareStreamIds(item.id, handledId) > 0;
    const [first] = items;
    const fresh = first === undefined || isFresh(first) ? items : items.filter(isFresh);
    // Handled before, and only their acknowledgement was lost: nothing to prove.
    const isRepetition = items.length > 0 && fresh.length === 0;
    if (!isRepetition) this.#prove(fresh, read);
    await this.#deliver(fresh);
    this.#group.ack(items);
  }

  #prove(fresh: readonly PendingItem[], { evidence }: Read): void {
    if (evidence === 'present' || this.#options.usesSharedGroup) return;
    const ids = fresh.map(({ id }) => id as StreamId);
    const { hole, before } = proveContinuity(this.#position(), ids, evidence);
    if (hole === undefined) {
      this.#state.position = before;
      return;
    }
    this.#tellGap(hole, before);
    this.#needsCorrection = true;
  }

  /** Redis counts wrongly for a group that has jumped over a hole. */
  #correctGroup(): void {
    if (this.#needsCorrection) this.#group.setPosition(this.#position());
    this.#needsCorrection = false;
  }

  async #deliver(items: readonly PendingItem[]): Promise<void> {
    if (items.every(isWhole)) return this.#handle(items);
    let batch: StreamEntry[] = [];
    // What was trimmed while it was pending, up to here, and has not been told yet.
    let lost: Position | undefined;
    for (const item of items) {
      if (isWhole(item)) {
        if (lost !== undefined) this.#tellGap('trimmed', lost);
        lost = undefined;
        batch.push(item);
      } else {
        await this.#handle(batch);
        batch = [];
        lost = advanced(lost ?? this.#position(), item.id as StreamId, 1);
      }
    }
    await this.#handle(batch);
    if (lost !== undefined) this.#tellGap('trimmed', lost);
  }

  async #handle(batch: readonly StreamEntry[]): Promise<void> {
    const last = batch.at(-1)?.id;
    if (last === undefined || last === null) return;
    await this.#deps.handler.handle(batch);
    this.#state.position = advanced(this.#position(), last, batch.length);
  }

  #tellGap(cause: GapCause, to: Position): void {
    const { handler, logger, metrics } = this.#deps;
    metrics.gap(cause);
    logger.warn({ cause, after: this.#state.position?.id, cursor: to.id }, 'entries may have been lost: clients are told to sync');
    const isDataLost = cause !== 'trimmed';
    handler.gap({ reason: isDataLost ? 'gap' : 'trimmed', cursor: to.id, isDataLost });
    this.#state.position = to;
  }

  /** @returns for how long a read may block. @throws LeaseLapsedError */
  #requireLease(): number {
    const { fence } = this.#deps;
    if (!fence.isHeld) throw new LeaseLapsedError('the lease has not been confirmed for too long');
    return Math.max(1, Math.floor(fence.heldForMs()));
  }

  #position(): Position {
    if (this.#state.position === undefined) throw new Error('the group has not been opened');
    return this.#state.position;
  }
}

function advanced({ count }: Position, id: StreamId, entries: number): Position {
  return { id, count: count === undefined ? undefined : count + entries };
}

/** Ids of Redis are canonical. */
function isWhole(item: PendingItem): item is PendingItem & { readonly id: StreamId; readonly fields: readonly Buffer[] } {
  return item.fields !== undefined;
}

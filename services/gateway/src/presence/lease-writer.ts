import type { UserId } from '@event-gateway/protocol';
import { Backoff, type Clock, type Logger, TokenBucket } from '@event-gateway/runtime';
import type { LeaseResult, LeaseState } from './lease-store.js';
import { PacedJob } from './paced-job.js';
import type { PresenceMetrics, RenewalOutcome } from './presence-metrics.js';
import { RenewalWheel } from './renewal-wheel.js';

/** Where leases are written; never rejects. */
export interface LeaseSink {
  write(states: readonly LeaseState[]): Promise<LeaseResult[]>;
}

export interface LeaseWriterDeps {
  readonly sink: LeaseSink;
  readonly metrics: PresenceMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

export interface LeaseWriterOptions {
  readonly leaseTtlMs: number;
  readonly renewMs: number;
  readonly commandTimeoutMs: number;
}

/** The one slot of a user: what is wanted now. Nothing else is queued, so the last wish wins and nothing can be reordered. */
interface Slot {
  readonly userId: UserId;
  /** Monotonic ms of the last sign of life. */
  activeMs: number;
  /** Monotonic ms of the last close; undefined while the user is here. */
  leftMs: number | undefined;
  /** `activeMs` as it was last sent. */
  sentActiveMs: number;
  /** Unix ms of Redis: the last activity known to be written. */
  confirmedMs: number;
  isInWheel: boolean;
  /** A renewal period has passed without a sign of life: the next one is written at once. */
  isOverdue: boolean;
}

/** What became of one: `rejected` if all of it that failed cannot happen any more, `unanswered` if some may. */
interface Flush {
  readonly outcome: 'taken' | 'rejected' | 'unanswered';
  readonly sentMs: number;
}

/** Ten scripts of a hundred users: one round trip. */
const flushUsers = 1000;
/**
 * From one flush to the next, 100 ms on average while many come: a surge of a thousand connects a second costs ten round trips a second,
 * and nobody sees that "online" came a tenth of a second later. The first few of a surge follow each other closely, so that what happens
 * now and then, however many it concerns, is told at once.
 */
const flushGapMs = { min: 50, spread: 100 };
const closeGapMs = 10;
const closeFlushes = { perSecond: 0.5, burst: 10 };
/** All leases are written anew within a moment of each replica's own, when the whole fleet has reason to do so. */
const rewriteJitterMs = 500;

/**
 * Keeps the leases of the users who are here: takes wishes (`join`, `active`, `leave`) at the speed of sockets and writes them
 * coalesced, one flush in flight.
 */
export class LeaseWriter {
  readonly #sink: LeaseSink;
  readonly #metrics: PresenceMetrics;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #options: LeaseWriterOptions;
  readonly #backoff: Backoff;
  readonly #flushes: PacedJob;
  readonly #closeFlushes: TokenBucket;
  readonly #wheel: RenewalWheel<Slot>;
  readonly #slots = new Map<UserId, Slot>();
  /** Comings and goings before renewals: those change what others see. */
  readonly #urgent = new Set<Slot>();
  readonly #renewals = new Set<Slot>();
  readonly #onRestored: (() => void)[] = [];
  #mode: 'idle' | 'running' | 'draining' | 'stopped' = 'idle';
  #leaseCount = 0;
  /** Monotonic ms from which on the script refuses the last flush that had no answer. */
  #refusedFromMs = 0;

  constructor({ sink, metrics, clock, logger, random }: LeaseWriterDeps, options: LeaseWriterOptions) {
    this.#sink = sink;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#random = random;
    this.#options = options;
    this.#backoff = new Backoff({ minMs: 100, maxMs: 2000, random });
    this.#flushes = new PacedJob({ name: 'presence leases', clock, logger }, () => this.#flushOnce());
    this.#closeFlushes = new TokenBucket(closeFlushes.perSecond, closeFlushes.burst, clock);
    this.#wheel = new RenewalWheel(clock, options.renewMs, (slot) => this.#onRenewalDue(slot));
  }

  /** Users whose leases are kept. */
  get count(): number {
    return this.#leaseCount;
  }

  /** Wishes that wait to be written. */
  get pendingCount(): number {
    return this.#urgent.size + this.#renewals.size;
  }

  /** Called when a lease was found lost by Redis and was taken back. */
  onRestored(listener: () => void): void {
    this.#onRestored.push(listener);
  }

  start(): void {
    if (this.#mode !== 'idle') return;
    this.#mode = 'running';
    this.#wheel.start();
    if (this.pendingCount > 0) this.#flushes.request();
  }

  /** The user is here. Written at once, whenever the last renewal was. */
  join(userId: UserId): void {
    const nowMs = this.#clock.nowMs();
    const slot = this.#slots.get(userId) ?? this.#addSlot(userId, nowMs);
    if (slot.leftMs !== undefined) this.#countLeases(1);
    slot.activeMs = nowMs;
    slot.leftMs = undefined;
    slot.isOverdue = false;
    // A moment of its own in the period: those who came in one surge don't renew in one.
    this.#watch(slot, this.#random() * this.#options.renewMs);
    this.#want(slot, true);
  }

  /** A sign of life: any frame, any pong. */
  active(userId: UserId): void {
    const slot = this.#slots.get(userId);
    if (slot === undefined || slot.leftMs !== undefined) return;
    slot.activeMs = this.#clock.nowMs();
    if (!slot.isOverdue) return;
    slot.isOverdue = false;
    this.#watch(slot, this.#options.renewMs);
    this.#want(slot);
  }

  /** The user's last connection here has closed: the grace begins. */
  leave(userId: UserId): void {
    const slot = this.#slots.get(userId);
    if (slot === undefined || slot.leftMs !== undefined) return;
    slot.leftMs = this.#clock.nowMs();
    this.#countLeases(-1);
    this.#want(slot);
  }

  /** Writes every lease anew, in chunks: Redis was away, or forgot something. Who is written already stays as he is. */
  rewriteAll(): void {
    if (this.#mode !== 'running') return;
    const refusedMs = this.#refusedFromMs - this.#clock.nowMs();
    this.#flushes.rearrange(Math.max(refusedMs, this.#random() * rewriteJitterMs));
    for (const slot of this.#slots.values()) this.#want(slot);
  }

  /** Gives every lease to the grace and writes what waits; ends at the deadline, or when Redis does not take it. */
  async drain(deadlineMs: number): Promise<void> {
    if (this.#mode !== 'running') return;
    const untilMs = this.#clock.nowMs() + deadlineMs;
    for (const slot of this.#slots.values()) this.leave(slot.userId);
    this.#mode = 'draining';
    await this.#flushes.stop();
    let isTaken = true;
    while (isTaken && this.pendingCount > 0 && this.#clock.nowMs() < untilMs) isTaken = (await this.#flush()).outcome === 'taken';
  }

  stop(): void {
    this.#mode = 'stopped';
    this.#wheel.stop();
    void this.#flushes.stop();
  }

  #addSlot(userId: UserId, nowMs: number): Slot {
    const slot: Slot = {
      userId,
      activeMs: nowMs,
      leftMs: undefined,
      sentActiveMs: -1,
      confirmedMs: 0,
      isInWheel: false,
      isOverdue: false,
    };
    this.#slots.set(userId, slot);
    this.#countLeases(1);
    return slot;
  }

  #countLeases(change: 1 | -1): void {
    this.#leaseCount += change;
    this.#metrics.leases(this.#leaseCount);
  }

  #watch(slot: Slot, delayMs: number): void {
    if (slot.isInWheel) return;
    slot.isInWheel = true;
    this.#wheel.add(slot, delayMs);
  }

  /** A renewal period is over for this user. The activity since the last write is written, however long ago it was. */
  #onRenewalDue(slot: Slot): void {
    slot.isInWheel = false;
    if (slot.leftMs !== undefined) return;
    if (slot.activeMs <= slot.sentActiveMs) {
      slot.isOverdue = true;
      return;
    }
    this.#watch(slot, this.#options.renewMs);
    this.#want(slot);
  }

  #want(slot: Slot, isUrgent = slot.leftMs !== undefined || slot.confirmedMs === 0): void {
    if (isUrgent) {
      this.#renewals.delete(slot);
      this.#urgent.add(slot);
    } else if (!this.#urgent.has(slot)) {
      this.#renewals.add(slot);
    }
    if (this.#mode === 'running') this.#flushes.request();
  }

  async #flushOnce(): Promise<number> {
    const flush = await this.#flush();
    if (this.#mode === 'running' && this.pendingCount > 0) this.#flushes.request();
    if (flush.outcome !== 'taken') return this.#holdOffMs(flush);
    return this.#closeFlushes.take() ? closeGapMs : flushGapMs.min + this.#random() * flushGapMs.spread;
  }

  /** One round trip. */
  async #flush(): Promise<Flush> {
    const sentMs = this.#clock.nowMs();
    const slots = this.#take(sentMs);
    const states = slots.map((slot) => stateOf(slot, sentMs));
    const wished = slots.map(({ leftMs }) => leftMs);
    const results = states.length === 0 ? [] : await this.#sink.write(states);
    if (this.#mode === 'stopped') return { outcome: 'unanswered', sentMs };
    const outcome = this.#settle(slots, wished, results);
    if (outcome === 'taken') this.#backoff.reset();
    return { outcome, sentMs };
  }

  /** Notes what was written, and wants again what was not. */
  #settle(slots: readonly Slot[], wished: readonly (number | undefined)[], results: readonly LeaseResult[]): Flush['outcome'] {
    let outcome: Flush['outcome'] = 'taken';
    let isRestored = false;
    for (const [i, slot] of slots.entries()) {
      const result = results[i];
      if (result === undefined || result.outcome === 'unanswered' || result.outcome === 'rejected') {
        if (outcome !== 'unanswered') outcome = result?.outcome === 'rejected' ? 'rejected' : 'unanswered';
        this.#metrics.renewal('failed');
        this.#want(slot);
        continue;
      }
      this.#written(slot, result, wished[i]);
      isRestored ||= result.outcome === 'restored';
    }
    if (isRestored) for (const listener of this.#onRestored) listener();
    return outcome;
  }

  #take(nowMs: number): Slot[] {
    const slots: Slot[] = [];
    for (const queue of [this.#urgent, this.#renewals]) {
      for (const slot of queue) {
        if (slots.length === flushUsers) return slots;
        queue.delete(slot);
        if (this.#isMoot(slot, nowMs)) {
          this.#slots.delete(slot.userId);
          continue;
        }
        slot.sentActiveMs = slot.activeMs;
        slots.push(slot);
      }
    }
    return slots;
  }

  /** Gone for longer than any lease of his lives. This bounds what a long outage of Redis can pile up. */
  #isMoot(slot: Slot, nowMs: number): boolean {
    return slot.leftMs !== undefined && nowMs - slot.activeMs > this.#options.leaseTtlMs;
  }

  #written(slot: Slot, result: LeaseResult, leftMs: number | undefined): void {
    this.#metrics.renewal(renewalOutcome(slot, result, leftMs));
    if (result.outcome === 'online') this.#metrics.transition('online');
    if (result.outcome !== 'over') slot.confirmedMs = Math.max(slot.confirmedMs, result.confirmedMs);
    // Whoever came or went during the write is among the urgent again.
    const isDone = leftMs !== undefined && !this.#urgent.has(slot);
    if (isDone && this.#slots.get(slot.userId) === slot) this.#slots.delete(slot.userId);
  }

  /**
   * A flush without an answer may still lie in a buffer on its way. Until its own deadline has passed nothing newer is sent: the script
   * refuses it from then on, so it can no longer overtake. One that never left, or that Redis has answered, is tried again sooner.
   */
  #holdOffMs({ outcome, sentMs }: Flush): number {
    const nowMs = this.#clock.nowMs();
    for (const slot of this.#urgent) {
      if (!this.#isMoot(slot, nowMs)) continue;
      this.#urgent.delete(slot);
      this.#slots.delete(slot.userId);
    }
    if (outcome === 'rejected') return this.#backoff.next();
    this.#refusedFromMs = sentMs + this.#options.commandTimeoutMs;
    return Math.max(this.#refusedFromMs - nowMs, this.#backoff.next());
  }
}

function stateOf(slot: Slot, nowMs: number): LeaseState {
  return {
    userId: slot.userId,
    activeAgeMs: nowMs - slot.activeMs,
    leftAgeMs: slot.leftMs === undefined ? undefined : nowMs - slot.leftMs,
    confirmedMs: slot.confirmedMs,
  };
}

function renewalOutcome(slot: Slot, result: LeaseResult, leftMs: number | undefined): RenewalOutcome {
  if (result.outcome === 'restored') return 'restored';
  if (leftMs !== undefined) return 'released';
  return slot.confirmedMs === 0 ? 'connected' : 'renewed';
}

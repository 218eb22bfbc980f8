import type { Clock } from '@event-gateway/runtime';
import { LRUCache } from 'lru-cache';
import { CardLoad } from './card-load.js';
import { ENTRY_BYTES, stringBytes } from './card-size.js';
import type { CardLookup } from './cards.js';
import type { CardResult } from './cards-metrics.js';
import type { OwnerAnswer, OwnerFault } from './owner-answer.js';

/** Where the cards of one kind come from. */
export interface CardSource<I extends string, T> {
  /** Never rejects. */
  fetch(id: I): Promise<OwnerAnswer<T>>;
  /** False while the owner is left alone, or tried. */
  readonly isServing: boolean;
  /** Called when the owner, left alone for a while, should be tried. */
  onProbe(probe: () => void): void;
}

/** A card as it is kept, and what it occupies. */
export interface SizedCard<C> {
  readonly card: C;
  readonly bytes: number;
}

export interface CardCacheOptions {
  readonly maxBytes: number;
  readonly ttlMs: number;
  readonly negativeTtlMs: number;
  /** A card that its owner failed to give is not asked for again before this. */
  readonly faultTtlMs: number;
}

interface Entry<C> {
  readonly state: CardLookup<C>;
  /** Monotonic ms. */
  readonly expiresAtMs: number;
  /** From then on whoever asks has it fetched again behind the scenes; Infinity while that is under way. */
  refreshAtMs: number;
  /** The cache's count of suspicions when this was asked for. */
  suspicion: number;
}

/**
 * Loads that have been waited for in vain and are still under way: from this many on the owner is taken to hang, and nobody
 * waits for it until one has ended. The breaker opens only when they time out, and until then every batch would pay a deadline.
 */
const maxOverdueLoads = 5;
/** Requests for one card at once: one whose answer is outdated already, and one that replaces it. */
const maxRequestsPerCard = 2;
/** In the last tenth of its life a card that is in use is fetched again, so that nobody ever waits for it. */
const refreshTenth = 0.1;
/** Nothing was learnt about the card: whoever wants it next asks again. */
const transient: ReadonlySet<OwnerFault> = new Set(['breaker_open', 'overloaded', 'aborted']);

/**
 * Cards of one kind: bounded in bytes, one load per card however many ask, and nothing stored that was asked for before an
 * invalidation. `I` is the id, `T` what the owner sends, `C` what is kept of it.
 */
export class CardCache<I extends string, T, C extends object> {
  readonly #source: CardSource<I, T>;
  readonly #encode: (card: T) => SizedCard<C>;
  readonly #clock: Clock;
  readonly #options: CardCacheOptions;
  readonly #onLookup: (result: CardResult) => void;
  readonly #entries: LRUCache<I, Entry<C>>;
  readonly #loads = new Map<I, CardLoad<I>>();
  /** Answers that may still come although nobody waits any more; forgotten as soon as the card is known in another way, or has changed. */
  readonly #late = new Map<I, Promise<OwnerAnswer<T>>>();
  readonly #listeners: ((card: T) => void)[] = [];
  #overdueLoads = 0;
  #suspicion = 0;
  /** The last card that was wanted from an owner that is left alone, or that it failed to give: what it is tried with. */
  #wanted: I | undefined;

  constructor(
    source: CardSource<I, T>,
    encode: (card: T) => SizedCard<C>,
    clock: Clock,
    options: CardCacheOptions,
    onLookup: (result: CardResult) => void,
  ) {
    this.#source = source;
    this.#encode = encode;
    this.#clock = clock;
    this.#options = options;
    this.#onLookup = onLookup;
    this.#entries = new LRUCache({ maxSize: options.maxBytes });
    source.onProbe(() => this.#probe());
  }

  /** Called with every card that the owner, or a message with the new card inside, has brought. */
  onLoaded(listener: (card: T) => void): void {
    this.#listeners.push(listener);
  }

  /** What is there now. Whether it is too old is judged by `want`, so that a card cannot expire between a warm-up and its use. */
  peek(id: I): CardLookup<C> {
    return this.#entries.peek(id)?.state ?? 'missing';
  }

  /** Sees to it that the card is there or on its way; returns the load if it is worth waiting for. */
  want(id: I, nowMs: number): CardLoad<I> | undefined {
    const entry = this.#entries.get(id);
    if (entry !== undefined && nowMs < entry.expiresAtMs) {
      this.#onLookup(this.#wantKnown(id, entry, nowMs));
      return undefined;
    }
    if (entry !== undefined) this.#entries.delete(id);
    const load = this.#loads.get(id) ?? this.#beginLoad(id);
    const isWorthWaiting = load !== undefined && !load.isOverdue && this.#overdueLoads < maxOverdueLoads && this.#source.isServing;
    this.#onLookup(isWorthWaiting ? 'load' : 'fault');
    return isWorthWaiting ? load : undefined;
  }

  /** Somebody waited for this load until the deadline. */
  gaveUp(load: CardLoad<I>): void {
    if (load.isDone || load.isOverdue) return;
    load.isOverdue = true;
    this.#overdueLoads++;
  }

  /** The card has changed: what is here is dropped, and what is on its way is not stored but asked for again. */
  invalidate(id: I): void {
    this.#entries.delete(id);
    this.#late.delete(id);
    const load = this.#loads.get(id);
    if (load === undefined) return;
    this.#forgive(load);
    load.generation++;
    load.isCurrent = false;
    if (load.requests < maxRequestsPerCard) this.#request(load);
  }

  /** The card has changed to this one. */
  replace(id: I, card: T): void {
    const load = this.#loads.get(id);
    if (load !== undefined) this.#end(load);
    this.#storeCard(id, card, this.#suspicion);
  }

  /** An invalidation may have been missed: what is here is served on, and each card is fetched again when it is next wanted. */
  suspectAll(): void {
    this.#suspicion++;
  }

  #wantKnown(id: I, entry: Entry<C>, nowMs: number): CardResult {
    if (entry.state === 'missing') return 'fault';
    if (entry.suspicion !== this.#suspicion) {
      entry.suspicion = this.#suspicion;
      entry.refreshAtMs = nowMs;
    }
    const isRefreshed = nowMs >= entry.refreshAtMs && this.#source.isServing;
    if (isRefreshed) {
      entry.refreshAtMs = Infinity;
      if (!this.#loads.has(id)) this.#beginLoad(id);
    }
    if (entry.state === 'absent') return 'absent';
    return isRefreshed ? 'refresh' : 'hit';
  }

  /** Undefined while the owner is left alone. */
  #beginLoad(id: I): CardLoad<I> | undefined {
    if (!this.#source.isServing) {
      this.#wanted = id;
      return undefined;
    }
    return this.#startLoad(id);
  }

  #startLoad(id: I): CardLoad<I> {
    const load = new CardLoad(id);
    this.#loads.set(id, load);
    this.#request(load);
    return load;
  }

  #request(load: CardLoad<I>): void {
    const { generation } = load;
    const suspicion = this.#suspicion;
    load.requests++;
    load.isCurrent = true;
    load.requestedAtMs = this.#clock.nowMs();
    void this.#source.fetch(load.id).then((answer) => {
      load.requests--;
      if (this.#loads.get(load.id) !== load) return; // replaced by a card that came with its invalidation
      if (load.generation === generation) this.#answered(load, answer, suspicion);
      else if (!load.isCurrent) this.#request(load);
    });
  }

  #answered(load: CardLoad<I>, answer: OwnerAnswer<T>, suspicion: number): void {
    if (answer.kind === 'found') this.#storeCard(load.id, answer.value, suspicion);
    else if (answer.kind === 'none') this.#storeAbsent(load.id, suspicion);
    else {
      this.#failed(load, answer.reason);
      if (answer.late !== undefined) this.#expect(load.id, answer.late, suspicion);
    }
    this.#end(load);
  }

  #expect(id: I, late: Promise<OwnerAnswer<T>>, suspicion: number): void {
    this.#late.set(id, late);
    void late.then((answer) => {
      if (this.#late.get(id) !== late) return;
      this.#late.delete(id);
      if (answer.kind === 'found') this.#storeCard(id, answer.value, suspicion);
      else if (answer.kind === 'none') this.#storeAbsent(id, suspicion);
    });
  }

  #end(load: CardLoad<I>): void {
    this.#loads.delete(load.id);
    this.#forgive(load);
    load.finish();
  }

  #forgive(load: CardLoad<I>): void {
    if (load.isOverdue) this.#overdueLoads--;
    load.isOverdue = false;
  }

  /** A card that is there stays until its time is over; otherwise the fault is remembered, so that not every event asks again. */
  #failed({ id, requestedAtMs }: CardLoad<I>, reason: OwnerFault): void {
    this.#wanted = id;
    // Counted from the request, so that an owner that hangs is asked as often as one that fails at once.
    const againAtMs = Math.max(this.#clock.nowMs(), requestedAtMs + this.#options.faultTtlMs);
    const entry = this.#entries.peek(id);
    if (entry !== undefined) entry.refreshAtMs = againAtMs;
    else if (!transient.has(reason)) this.#store(id, 'missing', 0, againAtMs, this.#suspicion);
  }

  #storeCard(id: I, raw: T, suspicion: number): void {
    this.#late.delete(id);
    const { card, bytes } = this.#encode(raw);
    const expiresAtMs = this.#clock.nowMs() + this.#options.ttlMs;
    // A card larger than the whole cache is as good as none.
    if (entryBytes(id) + bytes > this.#options.maxBytes) this.#store(id, 'missing', 0, expiresAtMs, suspicion);
    else this.#store(id, card, bytes, expiresAtMs, suspicion);
    for (const listener of this.#listeners) listener(raw);
  }

  #storeAbsent(id: I, suspicion: number): void {
    this.#store(id, 'absent', 0, this.#clock.nowMs() + this.#options.negativeTtlMs, suspicion);
  }

  #store(id: I, state: CardLookup<C>, cardBytes: number, expiresAtMs: number, suspicion: number): void {
    const refreshAtMs = typeof state === 'object' ? expiresAtMs - refreshTenth * this.#options.ttlMs : Infinity;
    this.#entries.set(id, { state, expiresAtMs, refreshAtMs, suspicion }, { size: entryBytes(id) + cardBytes });
  }

  /** The owner is tried with a card that somebody wants: the answer is not lost, and nobody waits for it. */
  #probe(): void {
    const id = this.#wanted;
    if (id !== undefined && !this.#loads.has(id)) this.#startLoad(id);
  }
}

function entryBytes(id: string): number {
  return ENTRY_BYTES + stringBytes(id);
}

import { compareStreamIds, STREAM_START, type StreamId, streamIdMs, type UserId } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';

/** An entry that was read before those that are kept. */
export interface OlderEvent {
  readonly id: StreamId;
  /** The field's JSON, or the ids when they came inside the envelope. */
  readonly recipients: Buffer | readonly UserId[];
  readonly envelope: Buffer;
}

/** One entry of the stream as the tail keeps it: the bytes that were read, not a copy. */
export interface RecentEvent extends OlderEvent {
  /** Counts the entries that this replica has read; the next entry has the next position. */
  readonly position: number;
  /** Monotonic ms at which it was read. */
  readonly readAtMs: number;
}

export interface RecentEventsLimits {
  /** RECENT_EVENTS_MAX_BYTES. */
  readonly maxBytes: number;
  /** RECENT_EVENTS_MAX_AGE_MS. */
  readonly maxAgeMs: number;
}

/** What one event costs beside its own bytes: the object, the views on the reply, its share of the reply's framing. */
const overheadBytes = 320;

/** Ids given in decoded form cost about this much each. */
const decodedIdBytes = 48;

/**
 * The tail: what this replica has read of the stream lately, whoever it concerns, bounded by bytes and age. It is complete
 * between `lowerBound` (exclusive) and `lastId`, so a client whose cursor lies there misses nothing by resuming from it.
 */
export class RecentEvents {
  readonly #clock: Clock;
  readonly #limits: RecentEventsLimits;
  /** Events from `#head` on are kept; positions of neighbours differ by one. */
  #events: (RecentEvent | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #lowerBound: StreamId = STREAM_START;
  #lastId: StreamId = STREAM_START;
  #lastPosition = 0;
  #restarts = 0;

  constructor(clock: Clock, limits: RecentEventsLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Nothing is missing after this id. */
  get lowerBound(): StreamId {
    return this.#lowerBound;
  }

  /** The last id that was read, whether its entry was good or not. */
  get lastId(): StreamId {
    return this.#lastId;
  }

  /** The position of the last good entry that was read. */
  get lastPosition(): number {
    return this.#lastPosition;
  }

  /** How often what was kept has been forgotten: a replay that spans a restart has a hole. */
  get restarts(): number {
    return this.#restarts;
  }

  /** The oldest position still kept, or the one that comes next. */
  get firstPosition(): number {
    return this.#lastPosition + 1 - (this.#events.length - this.#head);
  }

  /** Takes an entry as it is read; returns its event. */
  append(id: StreamId, recipients: Buffer | readonly UserId[], envelope: Buffer): RecentEvent {
    const event: RecentEvent = { id, position: ++this.#lastPosition, recipients, envelope, readAtMs: this.#clock.nowMs() };
    this.#lastId = id;
    this.#events.push(event);
    this.#bytes += costOf(event);
    this.#evict();
    return event;
  }

  /** An entry was read that nobody can be given. */
  pass(id: StreamId): void {
    this.#lastId = id;
  }

  /** Everything kept is forgotten: there is a hole, or a new start, right before what follows `id`. */
  restartAt(id: StreamId): void {
    this.#restarts++;
    this.#events = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#lowerBound = id;
    this.#lastId = id;
  }

  /**
   * Puts older entries before the oldest one; used to warm the tail, backwards from `lastId`. Takes as many as there is room
   * for and returns how many that were; the lower bound stays, the caller knows which one is proven.
   */
  prepend(newestFirst: readonly OlderEvent[]): number {
    const nowMs = this.#clock.nowMs();
    const wallMs = this.#clock.wallMs();
    const taken: RecentEvent[] = [];
    for (const { id, recipients, envelope } of newestFirst) {
      const ageMs = Math.max(0, wallMs - streamIdMs(id));
      const event: RecentEvent = { id, position: this.firstPosition - 1 - taken.length, recipients, envelope, readAtMs: nowMs - ageMs };
      if (ageMs > this.#limits.maxAgeMs || this.#bytes + costOf(event) > this.#limits.maxBytes) break;
      this.#bytes += costOf(event);
      taken.push(event);
    }
    this.#events = [...taken.reverse(), ...this.#events.slice(this.#head)];
    this.#head = 0;
    return taken.length;
  }

  /** After warming: nothing is missing after this id. */
  setLowerBound(id: StreamId): void {
    this.#lowerBound = id;
  }

  /** Whether everything after `cursor` up to `lastId` is here. */
  covers(cursor: StreamId): boolean {
    return compareStreamIds(cursor, this.#lowerBound) >= 0 && compareStreamIds(cursor, this.#lastId) <= 0;
  }

  /** The position of the last kept event that is not above `cursor` (one before the first, if all are above). */
  positionOf(cursor: StreamId): number {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const event = this.#events[middle];
      if (event !== undefined && compareStreamIds(event.id, cursor) <= 0) low = middle + 1;
      else high = middle;
    }
    return this.firstPosition - 1 + (low - this.#head);
  }

  /** The event at a position, if it is still kept. */
  at(position: number): RecentEvent | undefined {
    return position < this.firstPosition ? undefined : this.#events[this.#head + (position - this.firstPosition)];
  }

  /** Lets go of what has become too old; called where time passes without entries. */
  evict(): void {
    this.#evict();
  }

  #evict(): void {
    const oldestMs = this.#clock.nowMs() - this.#limits.maxAgeMs;
    for (let event = this.#events[this.#head]; event !== undefined; event = this.#events[this.#head]) {
      if (this.#bytes <= this.#limits.maxBytes && event.readAtMs >= oldestMs) break;
      this.#events[this.#head++] = undefined;
      this.#bytes -= costOf(event);
      this.#lowerBound = event.id;
    }
    // Amortised: the dead half is cut off once it is at least as long as the living.
    if (this.#head > 1024 && this.#head * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }
}

function costOf(event: RecentEvent): number {
  const recipientBytes = Buffer.isBuffer(event.recipients) ? event.recipients.length : event.recipients.length * decodedIdBytes;
  return event.envelope.length + recipientBytes + overheadBytes;
}

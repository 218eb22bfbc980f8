import { compareStreamIds, STREAM_START, type StreamId, type SyncRequiredReason, streamIdMs } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';
import { EventSegment, newSegmentBytes, type RecentEvent, segmentBytes } from './event-segment.js';

/** What made the tail forget what it had: the stream was cut before it was read, or everything else. */
export type RestartReason = Extract<SyncRequiredReason, 'trimmed' | 'gap'>;

export interface RecentEventsLimits {
  /** RECENT_EVENTS_MAX_BYTES. */
  readonly maxBytes: number;
  /** RECENT_EVENTS_MAX_AGE_MS. */
  readonly maxAgeMs: number;
}

/**
 * Segments whose events have left are filled again, one in and one out: fresh memory for every event would cost as much as everything
 * else that is done with an event that concerns nobody (2.4 instead of 3.8 µs). A few are enough for that.
 */
const maxSpareSegments = 16;

/**
 * The tail: what this replica has read of the stream lately, whoever it concerns, bounded by bytes and age. It is complete
 * between `lowerBound` (exclusive) and `lastId`, so a client whose cursor lies there misses nothing by resuming from it.
 *
 * Events have positions that count up by one; the oldest leave segment by segment.
 */
export class RecentEvents {
  readonly #clock: Clock;
  readonly #limits: RecentEventsLimits;
  /** Oldest first. */
  #segments: EventSegment[] = [];
  #spares: EventSegment[] = [];
  #bytes = 0;
  #count = 0;
  #lowerBound: StreamId = STREAM_START;
  #lastId: StreamId = STREAM_START;
  #lastPosition = 0;
  #restarts = 0;
  #restartReason: RestartReason = 'gap';

  constructor(clock: Clock, limits: RecentEventsLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** What all of it occupies, memory that waits to be filled again included. */
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

  /** Why it last was. */
  get restartReason(): RestartReason {
    return this.#restartReason;
  }

  /** The oldest position still kept, or the one that comes next. */
  get firstPosition(): number {
    return this.#lastPosition + 1 - this.#count;
  }

  /** Takes an entry that was read at `readAtMs` (monotonic); returns its position. */
  append(id: StreamId, recipients: Buffer, envelope: Buffer, readAtMs: number): number {
    const bytes = EventSegment.sizeOf(id, recipients, envelope);
    let segment = this.#segments.at(-1);
    if (segment === undefined || !segment.hasRoomFor(bytes)) {
      segment = this.#emptySegment(bytes);
      this.#segments.push(segment);
      this.#evict();
    }
    const grownBytes = segment.append(id, recipients, envelope, readAtMs);
    this.#lastId = id;
    this.#count++;
    if (grownBytes > 0) {
      this.#bytes += grownBytes;
      this.#evict();
    }
    return ++this.#lastPosition;
  }

  /** An entry was read that nobody can be given. */
  pass(id: StreamId): void {
    this.#lastId = id;
  }

  /** Everything kept is forgotten: there is a hole, or a new start, right before what follows `id`. */
  restartAt(id: StreamId, reason: RestartReason): void {
    this.#restarts++;
    this.#restartReason = reason;
    this.#segments = [];
    this.#spares = [];
    this.#bytes = 0;
    this.#count = 0;
    this.#lowerBound = id;
    this.#lastId = id;
  }

  /**
   * Puts older entries before the oldest one; used to warm the tail, backwards from `lastId`. Takes as many as there is room
   * for and returns how many that were; the lower bound stays, the caller knows which one is proven.
   */
  prepend(newestFirst: readonly RecentEvent[]): number {
    const taken = this.#thoseWithRoom(newestFirst);
    const readAtMs = this.#clock.nowMs();
    const older: EventSegment[] = [];
    for (const { id, recipients, envelope } of taken.toReversed()) {
      const bytes = EventSegment.sizeOf(id, recipients, envelope);
      let segment = older.at(-1);
      if (segment === undefined || !segment.hasRoomFor(bytes)) {
        segment = new EventSegment(id, bytes);
        older.push(segment);
      }
      segment.append(id, recipients, envelope, readAtMs - this.#ageMs(id));
    }
    for (const segment of older) this.#bytes += segment.memoryBytes;
    this.#count += taken.length;
    this.#segments = [...older, ...this.#segments];
    // What they occupy is known only now. If it is too much, the oldest of them leave again.
    const filled = this.#count;
    this.#evict();
    return taken.length - (filled - this.#count);
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
    let before = this.firstPosition - 1;
    for (const segment of this.#segments) {
      if (compareStreamIds(segment.lastId, cursor) > 0) return before + countUpTo(segment, cursor);
      before += segment.count;
    }
    return before;
  }

  /**
   * The events at positions in (after, until], oldest first, with their positions; those not kept any more are left out. They are views,
   * good for this turn: whoever keeps one copies it.
   */
  *range(after: number, until: number): IterableIterator<readonly [position: number, event: RecentEvent]> {
    let before = this.firstPosition - 1;
    for (const segment of this.#segments) {
      if (before >= until) return;
      const last = Math.min(segment.count, until - before);
      for (let index = Math.max(0, after - before); index < last; index++) yield [before + index + 1, segment.at(index)];
      before += segment.count;
    }
  }

  /** Lets go of what is too old and of what is too much. */
  #evict(): void {
    const oldestMs = this.#clock.nowMs() - this.#limits.maxAgeMs;
    while (this.#mayLetGo && (this.#segments[0]?.lastReadAtMs ?? oldestMs) < oldestMs) this.#letGo();
    while (this.#bytes > this.#limits.maxBytes) {
      const spare = this.#spares.pop();
      if (spare !== undefined) this.#bytes -= spare.memoryBytes;
      else if (this.#mayLetGo) this.#letGo();
      else return;
    }
  }

  /** The newest segment is still being filled. */
  get #mayLetGo(): boolean {
    return this.#segments.length > 1;
  }

  /** The oldest segment's events leave; its memory is kept, unless it was made for one large event. */
  #letGo(): void {
    const oldest = this.#segments.shift();
    if (oldest === undefined) return;
    this.#count -= oldest.count;
    this.#lowerBound = oldest.lastId;
    if (oldest.capacity === segmentBytes && this.#spares.length < maxSpareSegments) this.#spares.push(oldest);
    else this.#bytes -= oldest.memoryBytes;
  }

  /** Memory that is held already is taken first, and what would have to leave for new memory leaves before. */
  #emptySegment(firstBytes: number): EventSegment {
    if (firstBytes <= segmentBytes) {
      if (this.#spares.length === 0 && this.#bytes + newSegmentBytes > this.#limits.maxBytes) this.#letGo();
      const spare = this.#spares.pop();
      spare?.reuse(this.#lastId);
      if (spare !== undefined) return spare;
    }
    const segment = new EventSegment(this.#lastId, firstBytes);
    this.#bytes += segment.memoryBytes;
    return segment;
  }

  #thoseWithRoom(newestFirst: readonly RecentEvent[]): readonly RecentEvent[] {
    let bytes = this.#bytes;
    for (const [index, { id, recipients, envelope }] of newestFirst.entries()) {
      bytes += EventSegment.sizeOf(id, recipients, envelope);
      if (bytes > this.#limits.maxBytes || this.#ageMs(id) > this.#limits.maxAgeMs) return newestFirst.slice(0, index);
    }
    return newestFirst;
  }

  #ageMs(id: StreamId): number {
    return Math.max(0, this.#clock.wallMs() - streamIdMs(id));
  }
}

/** How many events of a segment are not above the cursor. */
function countUpTo(segment: EventSegment, cursor: StreamId): number {
  let low = 0;
  let high = segment.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareStreamIds(segment.idAt(middle), cursor) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

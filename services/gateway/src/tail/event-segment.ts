import type { StreamId } from '@event-gateway/protocol';

/** One entry of the stream. */
export interface RecentEvent {
  readonly id: StreamId;
  /** A JSON array of ids. */
  readonly recipients: Buffer;
  readonly envelope: Buffer;
}

/** An event for somebody who missed it: of the recipients, who may be thousands, nothing is kept. */
export type MissedEvent = Omit<RecentEvent, 'recipients'>;

/** Room for some two hundred events of common size. */
export const segmentBytes = 65_536;
/** id, recipients, envelope: where each ends. */
const endsPerEvent = 3;
const firstEnds = 64 * endsPerEvent;
/** What a new one of common size occupies. */
export const newSegmentBytes = segmentBytes + firstEnds * Uint32Array.BYTES_PER_ELEMENT;

/**
 * A run of consecutive events in one piece of memory. Events are copied in here (0.2 µs each), since keeping the views that the
 * Redis client made would cost more: several objects per event that live long, each moved twice by the garbage collector, and
 * the framing of the replies with them.
 */
export class EventSegment {
  readonly #bytes: Buffer;
  #ends: Uint32Array = new Uint32Array(firstEnds);
  #count = 0;
  #used = 0;
  /** Monotonic ms at which the newest event in here was read. */
  lastReadAtMs = 0;
  lastId: StreamId;

  /** For events after `afterId`; `firstBytes` is what the first one needs. */
  constructor(afterId: StreamId, firstBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(segmentBytes, firstBytes));
    this.lastId = afterId;
  }

  /** Forgets its events and takes new ones, after `afterId`, in the same memory. */
  reuse(afterId: StreamId): void {
    this.#count = 0;
    this.#used = 0;
    this.lastId = afterId;
  }

  /** What an event takes. */
  static sizeOf(id: StreamId, recipients: Buffer, envelope: Buffer): number {
    return id.length + recipients.length + envelope.length;
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes of events that it can hold. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** What it occupies, whether used or not. */
  get memoryBytes(): number {
    return this.#bytes.length + this.#ends.byteLength;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#used + bytes <= this.#bytes.length;
  }

  /** @returns how many bytes more it occupies now: many small events need more places for their ends. */
  append(id: StreamId, recipients: Buffer, envelope: Buffer, readAtMs: number): number {
    const at = this.#count * endsPerEvent;
    const occupiedBytes = this.#ends.byteLength;
    if (at === this.#ends.length) this.#ends = grown(this.#ends);
    this.#used += this.#bytes.write(id, this.#used, 'latin1');
    this.#ends[at] = this.#used;
    this.#used += recipients.copy(this.#bytes, this.#used);
    this.#ends[at + 1] = this.#used;
    this.#used += envelope.copy(this.#bytes, this.#used);
    this.#ends[at + 2] = this.#used;
    this.#count++;
    this.lastId = id;
    this.lastReadAtMs = readAtMs;
    return this.#ends.byteLength - occupiedBytes;
  }

  idAt(index: number): StreamId {
    return this.#bytes.toString('latin1', this.#end(index * endsPerEvent - 1), this.#end(index * endsPerEvent)) as StreamId;
  }

  recipientsAt(index: number): Buffer {
    return this.#bytes.subarray(this.#end(index * endsPerEvent), this.#end(index * endsPerEvent + 1));
  }

  envelopeAt(index: number): Buffer {
    return this.#bytes.subarray(this.#end(index * endsPerEvent + 1), this.#end(index * endsPerEvent + 2));
  }

  /** A view, good until this segment is reused. */
  at(index: number): RecentEvent {
    return new KeptEvent(this, index);
  }

  #end(index: number): number {
    return this.#ends[index] ?? 0;
  }
}

/** Cut out as it is asked for: a scan looks at the recipients of all events, and at the rest of a few. */
class KeptEvent implements RecentEvent {
  readonly #segment: EventSegment;
  readonly #index: number;

  constructor(segment: EventSegment, index: number) {
    this.#segment = segment;
    this.#index = index;
  }

  get id(): StreamId {
    return this.#segment.idAt(this.#index);
  }

  get recipients(): Buffer {
    return this.#segment.recipientsAt(this.#index);
  }

  get envelope(): Buffer {
    return this.#segment.envelopeAt(this.#index);
  }
}

function grown(ends: Uint32Array): Uint32Array {
  const larger = new Uint32Array(ends.length * 2);
  larger.set(ends);
  return larger;
}

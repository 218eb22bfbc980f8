import type { ClientState } from './client-state.js';
import { SeqRanges } from './seq-ranges.js';
import { isAbove, isStreamId } from './stream-id.js';

/** What was known right before something was missed: what a sync has to start from. */
export interface Hole {
  /** Frozen when the hole opened; raised only by what a sync has delivered since. */
  readonly lastSeqs: Map<string, number>;
  readonly cursor: string | undefined;
}

interface Track {
  /** The highest seq with no hole below it; undefined while only a sync can tell where the conversation begins. */
  contiguous: number | undefined;
  /** What was received beyond a hole. */
  readonly above: SeqRanges;
}

/**
 * What this client has received: a cursor for the stream, a seq per conversation, and the hole that a sync must fill.
 * The cursor is assigned by a `hello` that did not resume and by `sync.required`, also downwards; everything else only raises it.
 */
export class Ledger {
  #cursor: string | undefined;
  #tracks = new Map<string, Track>();
  /** The conversations that have something above a hole. */
  readonly #gapped = new Set<string>();
  #gapCursor: string | undefined;
  #previousCursor: string | undefined;
  #hole: Hole | undefined;

  get cursor(): string | undefined {
    return this.#cursor;
  }

  get hole(): Hole | undefined {
    return this.#hole;
  }

  get hasGap(): boolean {
    return this.#gapped.size > 0;
  }

  /** Whether this client was ever told anything: if so, a connection that does not resume has missed something. */
  get hasHistory(): boolean {
    return this.#cursor !== undefined || this.#tracks.size > 0 || this.#hole !== undefined;
  }

  assign(cursor: unknown): void {
    this.#cursor = isStreamId(cursor) ? cursor : undefined;
  }

  raise(cursor: unknown): void {
    if (isStreamId(cursor) && (this.#cursor === undefined || isAbove(cursor, this.#cursor))) this.#cursor = cursor;
  }

  /** False for a durable frame that is not above the cursor: it was received before. Raises the cursor to it otherwise. */
  admits(cursor: unknown): boolean {
    if (!isStreamId(cursor)) return true;
    if (this.#cursor !== undefined && !isAbove(cursor, this.#cursor)) return false;
    this.#previousCursor = this.#cursor;
    this.#cursor = cursor;
    return true;
  }

  contiguous(conversationId: string): number | undefined {
    return this.#tracks.get(conversationId)?.contiguous;
  }

  hasReceived(conversationId: string, seq: number): boolean {
    const track = this.#tracks.get(conversationId);
    return track !== undefined && (seq <= (track.contiguous ?? -1) || track.above.has(seq));
  }

  received(conversationId: string, seq: number): void {
    const track = this.#track(conversationId);
    // The first message of a conversation is where it begins for this client, unless a sync may bring earlier ones.
    if (track.contiguous === undefined && this.#hole === undefined) track.contiguous = seq - 1;
    if (track.contiguous !== undefined && seq <= track.contiguous) return;
    track.above.add(seq);
    if (this.#gapped.size === 0) this.#gapCursor = this.#previousCursor;
    this.#settle(conversationId, track, track.contiguous);
  }

  /** Freezes what is known. A hole that is open already is the older one, and stays. */
  openHole(cursor: string | undefined): void {
    this.#hole ??= { lastSeqs: this.lastSeqs(), cursor };
  }

  /** Opens the hole that a missing seq betrays: what was known when the first message from beyond it came. */
  openGap(): void {
    this.openHole(this.#gapCursor);
  }

  /** What a sync says that it has delivered. `isComplete(id)` is false where it was not asked from that conversation's seq on. */
  delivered(seqs: Iterable<readonly [string, number]>, isComplete: (conversationId: string) => boolean): void {
    for (const [conversationId, seq] of seqs) {
      if (!isComplete(conversationId) && this.contiguous(conversationId) !== undefined) continue;
      this.#reached(conversationId, seq);
      this.#hole?.lastSeqs.set(conversationId, Math.max(seq, this.#hole.lastSeqs.get(conversationId) ?? 0));
    }
  }

  /** The highest seq above each hole: a sync that is asked now and does not fill them proves that there is nothing to fill. */
  edges(): Map<string, number> {
    return new Map([...this.#gapped].map((id) => [id, this.#tracks.get(id)?.above.highest ?? 0]));
  }

  /**
   * The sync is over: holes below `edges` are none, and conversations that it did not name begin with what was received.
   * `next`: another hole opened after the sync had been asked; then only that one remains, frozen at what is known now, since a
   * seq is contiguous only up to what was missed. False when a seq below the edges is missing for good.
   */
  closeHole(edges: ReadonlyMap<string, number>, next?: { readonly cursor: string | undefined }): boolean {
    const isFilled = [...edges].every(([conversationId, seq]) => seq <= (this.contiguous(conversationId) ?? seq));
    for (const [conversationId, seq] of edges) this.#reached(conversationId, seq);
    this.#hole = next === undefined ? undefined : { lastSeqs: this.lastSeqs(), cursor: next.cursor };
    if (this.#hole !== undefined) return isFilled;
    for (const conversationId of [...this.#gapped]) {
      const track = this.#track(conversationId);
      if (track.contiguous === undefined) this.#settle(conversationId, track, (track.above.lowest ?? 1) - 1);
    }
    return isFilled;
  }

  #reached(conversationId: string, seq: number): void {
    const track = this.#track(conversationId);
    this.#settle(conversationId, track, Math.max(seq, track.contiguous ?? 0));
  }

  #settle(conversationId: string, track: Track, contiguous: number | undefined): void {
    if (contiguous !== undefined) track.contiguous = track.above.absorb(contiguous);
    if (track.above.isEmpty) this.#gapped.delete(conversationId);
    else this.#gapped.add(conversationId);
  }

  #track(conversationId: string): Track {
    const track = this.#tracks.get(conversationId) ?? { contiguous: undefined, above: new SeqRanges() };
    this.#tracks.set(conversationId, track);
    return track;
  }

  lastSeqs(): Map<string, number> {
    const seqs = new Map<string, number>();
    for (const [id, { contiguous }] of this.#tracks) if (contiguous !== undefined) seqs.set(id, contiguous);
    return seqs;
  }

  /**
   * The state as it would be safe to start from. Messages that wait for an earlier one are below the cursor and not yet with the
   * application, so an open gap is stored as a hole at once, before any sync was asked.
   */
  snapshot(): Omit<ClientState, 'user_id'> {
    const hole = this.#hole ?? (this.hasGap ? { lastSeqs: this.lastSeqs(), cursor: this.#gapCursor } : undefined);
    return {
      version: 1,
      cursor: this.#cursor,
      last_seq: Object.fromEntries(this.lastSeqs()),
      needs_sync: hole && { last_seq: Object.fromEntries(hole.lastSeqs), cursor: hole.cursor },
    };
  }

  restore(state: ClientState | undefined): void {
    this.assign(state?.cursor);
    this.#gapped.clear();
    this.#tracks = new Map(Object.entries(state?.last_seq ?? {}).map(([id, seq]) => [id, { contiguous: seq, above: new SeqRanges() }]));
    const hole = state?.needs_sync;
    this.#hole = hole && { lastSeqs: new Map(Object.entries(hole.last_seq)), cursor: hole.cursor };
  }
}

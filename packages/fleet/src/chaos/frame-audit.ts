import {
  compareStreamIds,
  type DurableFrame,
  type HelloFrame,
  isStreamId,
  type ServerFrame,
  type SyncCompleteFrame,
  type SyncRequiredFrame,
} from '@event-gateway/protocol';
import { AskedSyncs } from './asked-syncs.js';
import { messageOf, readFrame } from './read-frame.js';
import { SeqTrack } from './seq-track.js';

/** What a client was told and did, over all its connections. */
export interface AuditCounts {
  /** Live and replayed frames of durable events. */
  durable: number;
  synced: number;
  hellos: number;
  resumed: number;
  /** Reason of `sync.required` → how often. */
  readonly told: Map<string, number>;
  syncs: number;
  /** How often a connection was ended by the other side, by code. */
  readonly closes: Map<number, number>;
}

/**
 * Watches the frames of one client, whoever that client is, and holds them against the contract: a message that is missing from the
 * stream of frames must have been announced, by a `hello` that did not resume or by `sync.required`, before the first frame from behind
 * it; cursors only rise on a connection; what a sync has delivered leaves no hole. It knows no more than the client could know.
 */
export class FrameAudit {
  readonly counts: AuditCounts = { durable: 0, synced: 0, hellos: 0, resumed: 0, told: new Map(), syncs: 0, closes: new Map() };
  readonly #complain: (complaint: string) => void;
  readonly #tracks = new Map<string, SeqTrack>();
  /** The client's cursor, by the contract's rules. */
  #cursor: string | undefined;
  #sentCursor: string | undefined;
  /** Frames of this connection must be above it; undefined: no hello yet, or no position to be above of. */
  #floor: string | undefined;
  #replicaId: string | undefined;
  #isGreeted = false;
  /** The cursor was refused: `sync.required` comes before any durable frame. */
  #mustBeTold = false;
  /** Counts the announced holes; a sync that began after the newest one ends the debt. */
  #holes = 0;
  #owes = false;
  readonly #syncs = new AskedSyncs();

  constructor(complain: (complaint: string) => void) {
    this.#complain = complain;
  }

  /** A sync is owed, or under way. */
  get isOwing(): boolean {
    return this.#owes;
  }

  /** A connection is being opened with this URL. */
  opening(url: string): void {
    this.#sentCursor = new URL(url).searchParams.get('cursor') ?? undefined;
    this.#floor = undefined;
    this.#isGreeted = false;
    this.#mustBeTold = false;
    this.#syncs.forget();
  }

  /** The client has sent this frame. */
  sent(text: string): void {
    const parsed: unknown = JSON.parse(text);
    const frame = new Map<string, unknown>(Object.entries(parsed ?? {}));
    if (frame.get('type') !== 'sync') return;
    const ref = frame.get('ref');
    const knownRef = typeof ref === 'string' ? ref : undefined;
    if (typeof frame.get('next') === 'string') return this.#syncs.wentOn(knownRef);
    this.counts.syncs++;
    this.#syncs.asked(knownRef, this.#holes);
  }

  /** The client has received this. */
  received(text: string): void {
    const read = readFrame(text);
    if (read === undefined) return this.#complainHere(`a frame that is none: ${text.slice(0, 200)}`);
    if (!this.#isGreeted && read.frame.type !== 'hello') this.#complainHere(`${read.frame.type} before hello`);
    if (read.kind === 'durable') this.#durable(read.frame);
    else this.#own(read.frame);
  }

  /** The connection has been closed by the other side. */
  closed(code: number): void {
    this.counts.closes.set(code, (this.counts.closes.get(code) ?? 0) + 1);
  }

  #hello(frame: HelloFrame): void {
    if (this.#isGreeted) this.#complainHere('a second hello');
    this.#isGreeted = true;
    this.#replicaId = frame.replica_id;
    this.counts.hellos++;
    if (frame.resumed) {
      this.counts.resumed++;
      if (frame.cursor !== this.#sentCursor) this.#complainHere(`resumed from ${frame.cursor} instead of ${this.#sentCursor}`);
    } else {
      this.#assign(frame.cursor);
      this.#mustBeTold = this.#sentCursor !== undefined;
      this.#openHole();
    }
    this.#floor = frame.cursor ?? undefined;
  }

  #own(frame: ServerFrame): void {
    switch (frame.type) {
      case 'hello':
        return this.#hello(frame);
      case 'sync.required':
        return this.#syncRequired(frame);
      case 'sync.complete':
        return this.#syncComplete(frame);
      case 'pong':
      case 'reconnect':
        // What it names has been flushed to this socket: nothing below it may follow.
        if (isStreamId(frame.cursor)) this.#raiseFloor(frame.cursor);
        return this.#raise(frame.cursor);
      case 'error':
        if (frame.error.code.startsWith('sync_')) this.#syncs.ended(frame.error.ref);
        return;
      case 'auth.ok':
      case 'token.expiring':
      case 'presence':
      case 'presence.snapshot':
      case 'typing':
        return;
    }
  }

  #syncRequired(frame: SyncRequiredFrame): void {
    this.counts.told.set(frame.reason, (this.counts.told.get(frame.reason) ?? 0) + 1);
    this.#mustBeTold = false;
    this.#openHole();
    this.#assign(frame.cursor);
    this.#floor = frame.cursor ?? undefined;
  }

  #syncComplete(frame: SyncCompleteFrame): void {
    this.#raise(frame.cursor);
    for (const [conversationId, seq] of frame.conversations) this.#track(conversationId).raise(seq);
    if (frame.has_more) return this.#syncs.hasMore(frame.ref);
    if (this.#syncs.ended(frame.ref) !== this.#holes || !this.#owes) return;
    this.#owes = false;
    for (const [conversationId, track] of this.#tracks) {
      const { lowestAbove, contiguous } = track;
      if (lowestAbove === undefined) continue;
      this.#complainHere(`a sync has ended and ${conversationId}#${contiguous + 1} has not come, #${lowestAbove} has`);
      track.raise(lowestAbove); // said once
    }
  }

  #durable(frame: DurableFrame): void {
    const { cursor } = frame;
    if (cursor === undefined) return this.#syncedFrame(frame);
    this.counts.durable++;
    if (this.#mustBeTold) {
      this.#complainHere(`an event (${cursor}) although the cursor ${this.#sentCursor} was refused and nothing was said`);
      this.#mustBeTold = false;
    }
    if (this.#floor !== undefined && compareStreamIds(cursor, this.#floor) <= 0) {
      this.#complainHere(`the cursor ${cursor} after ${this.#floor}`);
    }
    this.#raiseFloor(cursor);
    // Not above the client's: it drops the frame, whatever is in it.
    if (this.#cursor !== undefined && compareStreamIds(cursor, this.#cursor) <= 0) return;
    this.#raise(cursor);
    this.#message(frame, true);
  }

  #syncedFrame(frame: DurableFrame): void {
    this.counts.synced++;
    if (this.#syncs.areNone) this.#complainHere('a synced frame that nobody has asked for');
    this.#message(frame, false);
  }

  #message(frame: DurableFrame, isLive: boolean): void {
    const message = messageOf(frame);
    if (message === undefined) return;
    const { conversationId, seq } = message;
    const track = this.#track(conversationId);
    if (track.has(seq)) return;
    if (isLive && !this.#owes && seq !== track.contiguous + 1) {
      this.#complainHere(`${conversationId}#${seq} came after #${track.contiguous}, and nobody had announced a hole`);
      track.raise(seq - 1); // said once
    }
    track.add(seq);
  }

  #openHole(): void {
    this.#holes++;
    this.#owes = true;
  }

  #assign(cursor: string | null): void {
    this.#cursor = cursor ?? undefined;
  }

  #raise(cursor: string | null | undefined): void {
    if (isStreamId(cursor) && (this.#cursor === undefined || compareStreamIds(cursor, this.#cursor) > 0)) this.#cursor = cursor;
  }

  #raiseFloor(cursor: string): void {
    if (this.#floor === undefined || compareStreamIds(cursor, this.#floor) > 0) this.#floor = cursor;
  }

  #track(conversationId: string): SeqTrack {
    const track = this.#tracks.get(conversationId) ?? new SeqTrack();
    this.#tracks.set(conversationId, track);
    return track;
  }

  #complainHere(complaint: string): void {
    this.#complain(`${complaint} (on ${this.#replicaId ?? 'a new connection'})`);
  }
}

import {
  compareStreamIds,
  type HelloFrame,
  isStreamId,
  type StreamId,
  type SyncRequiredReason,
  type UserId,
} from '@event-gateway/protocol';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import { EventFrames } from '../frames/build-frame.js';
import { enrich } from '../frames/enrich.js';
import type { LoadableCards } from '../frames/frame-cards.js';
import type { Connection } from '../hub/connection.js';
import { decodeEnvelopeBytes } from '../tail/decode-envelope.js';
import type { MissedEvent } from '../tail/event-segment.js';
import type { RecentEvents } from '../tail/recent-events.js';
import type { ResumeMetrics, ResumeOutcome } from './resume-metrics.js';
import type { Found, TailScan } from './tail-scan.js';

/** Up to where the walk has written events to every socket. */
export interface HandledPort {
  readonly handled: { readonly id: StreamId | null; readonly position: number };
}

/** What the stream itself can say about a cursor that the tail cannot serve. */
export interface StreamHistory {
  /** Redis has lost writes since: what this cursor stands for may no longer be what the stream holds. */
  isFromLostEpoch(cursor: StreamId): boolean;
  /** The stream's last id; undefined when Redis does not answer. */
  lastId(): Promise<StreamId | undefined>;
  /** The user's events after the cursor up to the tail, if it can be proven that the stream still has all of them. */
  walk(
    cursor: StreamId,
    userId: UserId,
    until: () => StreamId,
  ): Promise<{ readonly events: readonly MissedEvent[]; readonly upTo: StreamId } | undefined>;
}

/** Sends the presence of a user's peers to one of their connections. */
export interface SnapshotPort {
  sendSnapshot(connection: Connection): void;
}

export interface ResumeDeps {
  readonly tail: RecentEvents;
  readonly scan: TailScan;
  readonly walk: HandledPort;
  readonly history: StreamHistory;
  readonly cards: LoadableCards;
  readonly presence: SnapshotPort;
  readonly metrics: ResumeMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ResumeOptions {
  readonly replicaId: string;
  readonly heartbeatMs: number;
  /** The stream is not read: there is no cursor, and nothing to resume from. */
  readonly isPubsub: boolean;
}

/** Where a connection's durable frames begin. */
interface Start {
  readonly hello: { readonly resumed: boolean; readonly cursor: StreamId | null };
  /** Events of the stream from before the tail, and where the tail goes on. */
  readonly reached: Reached;
  /** The client has been served up to here by a faster replica. */
  readonly suppressUpTo: StreamId | undefined;
  readonly outcome: ResumeOutcome | undefined;
}

/** How far a replay has got. The id is unknown before this replica has read anything. */
type Reached = Omit<Found, 'upTo'> & { readonly upTo: StreamId | null };

/** What has left a small tail during a replay is taken from the stream, so often; a client that is slower than that is told to sync. */
const maxWalks = 3;
/** How many events are built between two looks at the socket. */
const chunkEvents = 64;

/**
 * A connection's first moments: `hello`, what it missed, then live, without a seam.
 *
 * Events enter the tail when they are read. The replay covers everything up to the tail's last position, entries included whose
 * batch still waits for its cards; the connection goes live in the same synchronous step in which the replay has reached that
 * position, and the walk writes to it only what lies above. A connection without a cursor starts at what this replica has
 * handled, in the same way.
 */
export class Resume {
  readonly #tail: RecentEvents;
  readonly #deps: ResumeDeps;
  readonly #options: ResumeOptions;
  readonly #log: RateLimitedLog;

  constructor(deps: ResumeDeps, options: ResumeOptions) {
    this.#tail = deps.tail;
    this.#deps = deps;
    this.#options = options;
    this.#log = new RateLimitedLog(deps.logger, deps.clock);
  }

  /**
   * Greets a connection and brings it up to date. `cursor` is what the client sent, whatever that is. Never rejects: whatever fails here
   * costs this one connection a sync.
   */
  async begin(connection: Connection, cursor: string | undefined): Promise<void> {
    try {
      await this.#begin(connection, cursor);
    } catch (error) {
      this.#log.warn({ error }, 'a resume failed: the client is told to sync');
      this.#giveUp(connection);
    }
  }

  async #begin(connection: Connection, cursor: string | undefined): Promise<void> {
    if (this.#options.isPubsub) {
      connection.greet(this.#hello(connection, { resumed: false, cursor: null }));
      connection.goLive(-1);
      return;
    }
    const decided = this.#start(cursor, connection.userId);
    const start = decided instanceof Promise ? await decided : decided;
    if (!connection.isOpen) return;
    if (start.outcome !== undefined) this.#deps.metrics.resumed(start.outcome);
    connection.greet(this.#hello(connection, start.hello));
    if (start.outcome === 'unknown') connection.requireSync('cursor_unknown', this.#deps.walk.handled.id);
    await this.#replay(connection, start);
    if (start.hello.resumed && connection.isOpen) this.#deps.presence.sendSnapshot(connection);
  }

  /** A promise only when the stream has to be asked. */
  #start(cursor: string | undefined, userId: UserId): Start | Promise<Start> {
    if (cursor === undefined) return this.#fresh(undefined);
    if (!isStreamId(cursor) || this.#deps.history.isFromLostEpoch(cursor)) return this.#fresh('unknown');
    return this.#tail.covers(cursor) ? this.#resumed(cursor, 'tail') : this.#startFromStream(cursor, userId);
  }

  /** The cursor is ahead of this replica, or older than its tail. */
  async #startFromStream(cursor: StreamId, userId: UserId): Promise<Start> {
    if (this.#isAhead(cursor)) {
      const lastId = await this.#deps.history.lastId();
      if (this.#deps.history.isFromLostEpoch(cursor)) return this.#fresh('unknown');
      if (this.#tail.covers(cursor)) return this.#resumed(cursor, 'tail');
      // Meanwhile the reader may have come past it, over a hole even, and then the cursor is an old one like any other.
      if (this.#isAhead(cursor)) {
        if (lastId === undefined || compareStreamIds(cursor, lastId) > 0) return this.#fresh('unknown');
        const reached = { events: [], position: this.#tail.lastPosition, upTo: cursor };
        return { ...this.#resumed(cursor, 'ahead', reached), suppressUpTo: cursor };
      }
    }
    const walked = await this.#walkStream(cursor, userId);
    return walked === undefined ? this.#fresh('unknown') : this.#resumed(cursor, 'stream', walked);
  }

  /** The user's events that are in the stream and not in the tail any more; undefined when it cannot be proven that these are all. */
  async #walkStream(after: StreamId, userId: UserId): Promise<Found | undefined> {
    const { restarts } = this.#tail;
    const walked = await this.#deps.history.walk(after, userId, () => this.#tail.lowerBound);
    if (walked === undefined || restarts !== this.#tail.restarts || !this.#tail.covers(walked.upTo)) return undefined;
    return { ...walked, position: this.#tail.positionOf(walked.upTo) };
  }

  /** The client was served by a faster replica. */
  #isAhead(cursor: StreamId): boolean {
    return compareStreamIds(cursor, this.#tail.lastId) > 0;
  }

  #fresh(outcome: 'unknown' | undefined): Start {
    const { id, position } = this.#deps.walk.handled;
    return { hello: { resumed: false, cursor: id }, reached: { events: [], position, upTo: id }, suppressUpTo: undefined, outcome };
  }

  #resumed(cursor: StreamId, outcome: ResumeOutcome, reached = this.#inTail(cursor)): Start {
    return { hello: { resumed: true, cursor }, reached, suppressUpTo: undefined, outcome };
  }

  #inTail(cursor: StreamId): Reached {
    return { events: [], position: this.#tail.positionOf(cursor), upTo: cursor };
  }

  #hello(connection: Connection, { resumed, cursor }: Start['hello']): HelloFrame {
    const { replicaId, heartbeatMs } = this.#options;
    return {
      type: 'hello',
      connection_id: connection.id,
      replica_id: replicaId,
      user_id: connection.userId,
      heartbeat_ms: heartbeatMs,
      resumed,
      cursor,
    };
  }

  async #replay(connection: Connection, start: Start): Promise<void> {
    const { restarts } = this.#tail;
    let { reached } = start;
    let walks = 0;
    const mayWalk = (): boolean => walks++ < maxWalks;
    await this.#write(connection, reached.events);
    while (connection.isOpen && reached.position !== this.#tail.lastPosition) {
      const next = await this.#next(connection.userId, reached, mayWalk);
      if (restarts !== this.#tail.restarts) return this.#missed(connection, this.#tail.restartReason);
      if (next === undefined) return this.#missed(connection, 'slow_consumer');
      await this.#write(connection, next.events);
      reached = next;
    }
    if (restarts !== this.#tail.restarts) this.#missed(connection, this.#tail.restartReason);
    else connection.goLive(reached.position, start.suppressUpTo);
  }

  /** What follows, from the tail or, where that has let go of it meanwhile, from the stream; undefined when it is nowhere. */
  async #next(userId: UserId, { position, upTo }: Reached, mayWalk: () => boolean): Promise<Found | undefined> {
    const { restarts } = this.#tail;
    const found = this.#deps.scan.find(userId, position);
    const next = found instanceof Promise ? await found : found;
    if (position + 1 >= this.#tail.firstPosition) return next;
    return restarts === this.#tail.restarts && upTo !== null && mayWalk() ? this.#walkStream(upTo, userId) : undefined;
  }

  /** What the client still needed can no longer be told; from here on it is live. One that is live already has had everything. */
  #giveUp(connection: Connection): void {
    if (!connection.isGreeted) {
      const { hello, outcome } = this.#fresh('unknown');
      if (outcome !== undefined) this.#deps.metrics.resumed(outcome);
      connection.greet(this.#hello(connection, hello));
    }
    if (!connection.isLive && !connection.isCatchingUp) this.#missed(connection, 'cursor_unknown');
  }

  /** What this socket still needed is neither in the tail nor to be had from the stream. */
  #missed(connection: Connection, reason: SyncRequiredReason): void {
    const { id, position } = this.#deps.walk.handled;
    connection.requireSync(reason, id);
    connection.goLive(position);
  }

  /** Writes events as fast as the socket takes them. */
  async #write(connection: Connection, events: readonly MissedEvent[]): Promise<void> {
    for (let at = 0; at < events.length && connection.isOpen; at += chunkEvents) {
      const chunk = events.slice(at, at + chunkEvents).flatMap(({ id, envelope }) => {
        const decoded = decodeEnvelopeBytes(envelope, false);
        // Malformed: counted and buried when it was read.
        return typeof decoded === 'string' ? [] : [{ id, envelope: decoded, viewers: [connection.userId] }];
      });
      const warming = enrich(chunk, this.#deps.cards);
      if (warming !== undefined) await warming;
      for (const { id, envelope } of chunk) {
        const frame = new EventFrames(envelope, id, this.#deps.cards).for(connection.userId);
        while (connection.writeReplayed(frame, envelope.type) === 'full') await connection.drained();
      }
    }
  }
}

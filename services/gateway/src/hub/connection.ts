import {
  CLOSE_CODES,
  compareStreamIds,
  encodeFrame,
  type HelloFrame,
  type ServerFrame,
  type StreamId,
  type SyncRequiredReason,
  type UserId,
} from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';
import type { SendVerdict, Socket } from '../transport/socket.js';
import type { CloseReason, HubMetrics } from './hub-metrics.js';
import { durableFits, ephemeralFits, hasRoom, type OutboxLimits } from './outbox.js';

/** What all connections of a replica share. One object, so that a connection costs no closures. */
export interface ConnectionContext {
  readonly clock: Clock;
  readonly metrics: Pick<HubMetrics, 'sent' | 'dropped'>;
  readonly limits: OutboxLimits;
  /** Bounds the random `after_ms` of `sync.required`, in ms. */
  readonly syncRequiredJitterMs: number;
  /** The last stream id that this replica has handled and flushed; null in pub/sub mode. */
  handledId(): StreamId | null;
  /** The client gave a sign of life. */
  onActivity(connection: Connection): void;
  /** The socket fell behind; it is watched until it no longer is, or has been stuck for too long. */
  onBehind(connection: Connection): void;
  /** The one place that removes a connection from everything that holds it. */
  onClosed(connection: Connection, reason: CloseReason): void;
}

/** Why and how a connection is closed other than by the table of close codes. */
export interface CloseOverride {
  readonly code?: number;
  /** At most 123 bytes. */
  readonly reason?: string;
}

type Mode = 'greeting' | 'replaying' | 'live' | 'catching_up' | 'closed';

const allowed: Readonly<Record<Mode, readonly Mode[]>> = {
  greeting: ['replaying', 'closed'],
  replaying: ['live', 'closed'],
  live: ['catching_up', 'closed'],
  catching_up: ['live', 'closed'],
  closed: [],
};

/**
 * One live socket of one user.
 *
 * Modes: `greeting` (no frame sent yet) → `replaying` (`hello` sent; the replay owns durable frames) → `live` (the walk writes
 * durable frames above `livePosition`) ⇄ `catching_up` (a durable frame did not fit: nothing is queued any more, and once the
 * socket has drained it is told `sync.required`) → `closed`.
 *
 * `close` is the one door out.
 */
export class Connection {
  readonly id: string;
  readonly userId: UserId;
  /** The cursor that the client brought, if it was one. */
  readonly cursor: StreamId | undefined;
  /** Monotonic ms of the last sign of life. */
  lastActivityMs: number;
  /** Monotonic ms since when a socket that is behind has taken nothing. */
  stuckSinceMs = 0;

  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  #mode: Mode = 'greeting';
  /** Live writes take only stream positions above this. */
  #livePosition = 0;
  /** The cursor that the last `hello` or `sync.required` gave the client. */
  #assignedCursor: StreamId | null = null;
  /** Frames up to this id were already sent by a faster replica. */
  #suppressUpTo: StreamId | undefined;
  /** The transport holds bytes; asking it how many costs a call, so this flag is asked first. */
  #isBuffering = false;
  #queue: Uint8Array[] | undefined;
  #queueTypes: string[] | undefined;
  #waiting: (() => void)[] | undefined;
  #abort: AbortController | undefined;

  constructor(id: string, userId: UserId, cursor: StreamId | undefined, socket: Socket, context: ConnectionContext) {
    this.id = id;
    this.userId = userId;
    this.cursor = cursor;
    this.#socket = socket;
    this.#context = context;
    this.lastActivityMs = context.clock.nowMs();
  }

  get isOpen(): boolean {
    return this.#mode !== 'closed';
  }

  get isGreeted(): boolean {
    return this.#mode !== 'greeting';
  }

  /** The walk writes to it: whatever the replica has handled, this socket has been sent, or told to sync. */
  get isLive(): boolean {
    return this.#mode === 'live';
  }

  /** A cursor up to which the client lacks nothing that this socket still owes it: while it catches up, the one that it began with. */
  get assuredCursor(): StreamId | null {
    return this.isLive ? this.#context.handledId() : this.#assignedCursor;
  }

  get isCatchingUp(): boolean {
    return this.#mode === 'catching_up';
  }

  /** Something waits for the socket to take what it was sent: the walk, a replay or a sync. */
  get isBehind(): boolean {
    return this.isCatchingUp || (this.isOpen && this.isGreeted && this.#waiting !== undefined);
  }

  /** Aborts when the connection closes. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (!this.isOpen) this.#abort.abort();
    return this.#abort.signal;
  }

  /** The first frame; the replay follows. */
  greet(hello: HelloFrame): void {
    if (!this.isOpen) return;
    this.#enter('replaying');
    this.#assignedCursor = hello.cursor;
    this.writeControl(hello);
    this.#wake();
  }

  /** From here on the walk writes everything above `position`; ids up to `suppressUpTo` are known to the client already. */
  goLive(position: number, suppressUpTo?: StreamId): void {
    if (!this.isOpen) return;
    this.#livePosition = position;
    this.#suppressUpTo = suppressUpTo;
    this.#enter('live');
  }

  /** Tells the client that it may have missed something; frames after this one have ids above `cursor`. */
  requireSync(reason: SyncRequiredReason, cursor: StreamId | null): void {
    this.#suppressUpTo = undefined;
    this.#assignedCursor = cursor;
    this.writeControl({
      type: 'sync.required',
      reason,
      cursor,
      after_ms: Math.floor(Math.random() * (this.#context.syncRequiredJitterMs + 1)),
    });
  }

  /**
   * Queues a durable frame of the walk until `flush`. Returns true if this is the first one since the last flush: the caller
   * then owes a flush.
   */
  enqueue(frame: Uint8Array, type: string, position: number, id: string | null): boolean {
    if (this.#mode !== 'live' || position <= this.#livePosition || this.#isSuppressed(id)) {
      if (this.#mode === 'catching_up') this.#context.metrics.dropped('slow_consumer');
      return false;
    }
    if (this.#queue !== undefined && this.#queueTypes !== undefined) {
      this.#queue.push(frame);
      this.#queueTypes.push(type);
      return false;
    }
    this.#queue = [frame];
    this.#queueTypes = [type];
    return true;
  }

  /** What was to be queued cannot be: there is a hole at `id`, behind what waits for the flush and before what comes next. */
  lose(position: number, id: StreamId | null): void {
    if (this.#mode !== 'live' || position <= this.#livePosition || this.#isSuppressed(id)) return;
    this.flush();
    if (this.isLive) this.requireSync('gap', id);
  }

  /** Writes what was queued: one frame by itself, several in one packet. */
  flush(): void {
    const frames = this.#queue;
    const types = this.#queueTypes;
    this.#queue = undefined;
    this.#queueTypes = undefined;
    if (frames === undefined || types === undefined || this.#mode !== 'live') return;
    if (frames.length === 1) this.#writeQueued(frames, types);
    else this.#socket.cork(() => this.#writeQueued(frames, types));
  }

  /** A replayed frame. `full`: nothing was written, wait for `drained`. */
  writeReplayed(frame: Uint8Array, type: string): 'written' | 'full' | 'closed' {
    return this.#writePulled(frame, type, this.#mode === 'replaying');
  }

  /** A frame of a sync, which has no place in the stream. `full`: nothing was written, wait for `drained`. */
  writeSynced(frame: Uint8Array, type: string): 'written' | 'full' | 'closed' {
    return this.#writePulled(frame, type, this.#mode === 'live' || this.#mode === 'replaying');
  }

  /**
   * A frame about the connection itself: always queued, after `hello` if that has not been sent. A client that only asks and never reads is
   * closed.
   */
  writeControl(frame: ServerFrame): void {
    if (!this.isOpen) return;
    if (!this.isGreeted) return void this.greeted().then(() => this.writeControl(frame));
    const text = encodeFrame(frame);
    if (this.#bufferedBytes() > 2 * this.#context.limits.maxBytes) {
      this.close('slow_consumer');
      return;
    }
    this.#send(text, Buffer.byteLength(text), frame.type);
  }

  /** A frame that may go missing: it is the first to give way. False when it did. */
  writeEphemeral(frame: string | Uint8Array, type: string): boolean {
    if (this.#mode !== 'live') return false;
    const bytes = typeof frame === 'string' ? Buffer.byteLength(frame) : frame.byteLength;
    if (ephemeralFits(this.#bufferedBytes(), bytes, this.#context.limits)) return this.#send(frame, bytes, type) !== 'dropped';
    this.#context.metrics.dropped('ephemeral');
    return false;
  }

  /** Resolves when the socket has room again, or has closed. */
  drained(): Promise<void> {
    if (!this.isOpen || (!this.isCatchingUp && hasRoom(this.#bufferedBytes(), this.#context.limits))) return Promise.resolve();
    if (!this.isBehind) this.#watchStuck();
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  /** Resolves when `hello` has been sent, or the connection has closed. */
  greeted(): Promise<void> {
    if (this.isGreeted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  /** A pong, or any frame. */
  onActivity(): void {
    this.lastActivityMs = this.#context.clock.nowMs();
    this.#context.onActivity(this);
  }

  /** The transport took some of what it held: a sign of life, and room for those who wait. */
  onDrain(): void {
    const nowMs = this.#context.clock.nowMs();
    this.lastActivityMs = nowMs;
    this.stuckSinceMs = nowMs;
    const bufferedBytes = this.#socket.bufferedBytes();
    this.#isBuffering = bufferedBytes > 0;
    if (this.#mode === 'catching_up' && bufferedBytes === 0) this.#catchUp();
    if (hasRoom(bufferedBytes, this.#context.limits) && !this.isCatchingUp) this.#wake();
  }

  ping(): void {
    if (this.isOpen) this.#socket.ping();
  }

  /** Ends the connection from this side. */
  close(reason: CloseReason, override: CloseOverride = {}): void {
    if (!this.isOpen) return;
    const code = override.code ?? (reason === 'client' ? 1000 : CLOSE_CODES[reason].code);
    this.#enter('closed');
    this.#socket.end(code, override.reason ?? reason);
    this.#release(reason);
  }

  /** The transport says that the socket is gone. */
  onTransportClosed(): void {
    if (!this.isOpen) return;
    this.#enter('closed');
    this.#release('client');
  }

  #release(reason: CloseReason): void {
    this.#queue = undefined;
    this.#queueTypes = undefined;
    this.#abort?.abort();
    this.#context.onClosed(this, reason);
    this.#wake();
  }

  #writeQueued(frames: readonly Uint8Array[], types: readonly string[]): void {
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i];
      const type = types[i];
      if (frame === undefined || type === undefined) return;
      if (this.#mode !== 'live') this.#context.metrics.dropped('slow_consumer');
      else if (!durableFits(this.#bufferedBytes(), frame.byteLength, this.#context.limits)) this.#fallBehind('slow_consumer');
      else if (this.#send(frame, frame.byteLength, type) === 'dropped') this.#fallBehind('transport');
    }
  }

  #writePulled(frame: Uint8Array, type: string, isMine: boolean): 'written' | 'full' | 'closed' {
    if (!this.isOpen) return 'closed';
    // Whoever was told that there is room must find it, however large the frame: it would else ask and wait in turn for ever.
    const bufferedBytes = this.#bufferedBytes();
    const fits = durableFits(bufferedBytes, frame.byteLength, this.#context.limits) || hasRoom(bufferedBytes, this.#context.limits);
    if (!isMine || !fits) return 'full';
    return this.#send(frame, frame.byteLength, type) === 'dropped' ? 'full' : 'written';
  }

  /** A frame was lost to this socket. Nothing durable follows until the client has been told. */
  #fallBehind(reason: 'slow_consumer' | 'transport'): void {
    this.#context.metrics.dropped(reason);
    this.#enter('catching_up');
    this.#watchStuck();
    // The transport refused although nothing is queued: no drain would ever come.
    if (this.#socket.bufferedBytes() === 0) this.#catchUp();
  }

  #watchStuck(): void {
    this.stuckSinceMs = this.#context.clock.nowMs();
    this.#context.onBehind(this);
  }

  /** What was missed was published before this moment, so the sync that the client is told to do covers it. */
  #catchUp(): void {
    this.#enter('live');
    this.requireSync('slow_consumer', this.#context.handledId());
  }

  #send(frame: string | Uint8Array, bytes: number, type: string): SendVerdict {
    const verdict = this.#socket.send(frame);
    if (verdict === 'dropped') return verdict;
    if (verdict === 'buffered') this.#isBuffering = true;
    this.#context.metrics.sent(type, bytes);
    return verdict;
  }

  #bufferedBytes(): number {
    return this.#isBuffering ? this.#socket.bufferedBytes() : 0;
  }

  #isSuppressed(id: string | null): boolean {
    if (this.#suppressUpTo === undefined || id === null) return false;
    if (compareStreamIds(id, this.#suppressUpTo) <= 0) return true;
    this.#suppressUpTo = undefined;
    return false;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) for (const resolve of waiting) resolve();
  }

  #enter(mode: Mode): void {
    if (!allowed[this.#mode].includes(mode)) throw new Error(`connection mode ${this.#mode} cannot become ${mode}`);
    this.#mode = mode;
  }
}

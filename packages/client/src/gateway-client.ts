import { CatchUp } from './catch-up.js';
import type { ClientEvents, ClientListener, ConnectionState, ConnectionStatus, DottedType } from './client-events.js';
import type { ClientState } from './client-state.js';
import { systemClock } from './clock.js';
import type { Context } from './context.js';
import { Emitter } from './emitter.js';
import {
  type ControlFrame,
  type DurableFrame,
  decodeFrame,
  type FrameError,
  type HelloFrame,
  hasMessage,
  isPresenceEntry,
  presenceEntries,
  type SyncCompleteFrame,
  type TypingFrame,
  waitMs,
} from './frames.js';
import { Inbox, type InboxEvent } from './inbox.js';
import { Ledger } from './ledger.js';
import { Link, type LinkPhase, type LinkTarget } from './link.js';
import type { GatewayClientOptions } from './options.js';
import { DEFAULT_TIMING } from './timing.js';
import { browserPageSignals } from './page-signals.js';
import { PresenceStore } from './presence-store.js';
import { staleCards } from './stale-cards.js';
import { StateSaver } from './state-saver.js';
import { Timers } from './timers.js';
import { TokenRefresh } from './token-refresh.js';
import { Typing } from './typing.js';
import { findWebSocket } from './web-socket.js';

const DEFAULT_HEARTBEAT_MS = 20_000;

/**
 * One user's connection to the gateway: it comes back by itself, resumes where it was, syncs what it missed, and hands out every
 * event once, messages in order. `connect()` starts it, `close()` leaves nothing behind; it can be started again.
 */
export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #emitter = new Emitter();
  readonly #context: Context;
  readonly #ledger = new Ledger();
  readonly #inbox: Inbox;
  readonly #catchUp: CatchUp;
  readonly #typing: Typing;
  readonly #presence = new PresenceStore((entry) => this.#emitter.emit('presence', entry));
  readonly #saver: StateSaver;
  readonly #link: Link;
  readonly #tokenRefresh: TokenRefresh;
  #loaded: Promise<void> | undefined;
  #userId: string | undefined;
  #wasOnline = false;
  #sentCursor: string | undefined;
  #status: ConnectionStatus = { state: 'idle' };

  /** @throws Error when the platform has no WebSocket and none is given. */
  constructor(options: GatewayClientOptions) {
    const clock = options.clock ?? systemClock;
    const page = options.page === undefined ? browserPageSignals() : options.page;
    const timers = new Timers(clock);
    const timing = { ...DEFAULT_TIMING, ...options.timing };
    const context = { clock, timers, timing, random: options.random ?? Math.random };
    this.#options = options;
    this.#context = context;
    if (options.refetch !== undefined) this.#emitter.on('refetch', options.refetch);
    this.#typing = new Typing(context, (change) => this.#emitter.emit('typing', change));
    this.#link = new Link(context, findWebSocket(options.webSocket), page, {
      token: (isStale) => this.#token(isStale),
      target: (token) => this.#target(token),
      text: (data) => this.#receive(data),
      down: () => this.#down(),
      rest: () => void this.#saver.save(),
      changed: () => this.#refreshStatus(),
      failed: (code, cause) => this.#failed(code, cause),
    });
    this.#tokenRefresh = new TokenRefresh(context, {
      provider: options.token,
      send: (token) => this.#link.send({ type: 'auth', token }),
      failed: (cause) => this.#failed('token_unavailable', cause),
    });
    this.#catchUp = new CatchUp(context, this.#ledger, {
      send: (frame) => this.#link.send(frame),
      advanced: () => this.#inbox.flush(),
      changed: () => this.#holeChanged(),
    });
    this.#inbox = new Inbox(
      context,
      this.#ledger,
      this.#catchUp,
      () => this.#catchUp.holdMs,
      (event) => this.#handOut(event),
    );
    this.#saver = new StateSaver(
      options.storage,
      timers,
      timing.saveEveryMs,
      () => this.#state(),
      (cause) => this.#failed('storage_failed', cause),
    );
  }

  get state(): ConnectionState {
    return this.#status.state;
  }

  get status(): ConnectionStatus {
    return this.#status;
  }

  /** Whose connection this is, since the first `hello`. */
  get userId(): string | undefined {
    return this.#userId;
  }

  /** The last durable event received; undefined before the first, and always with pub/sub. */
  get cursor(): string | undefined {
    return this.#ledger.cursor;
  }

  /** Who is online, as far as this client may know. */
  get presence(): Pick<PresenceStore, 'of' | 'all'> {
    return this.#presence;
  }

  /** Returns the way to stop listening. */
  on<Type extends keyof ClientEvents>(type: Type, listener: ClientListener<Type>): () => void;
  on(type: DottedType, listener: ClientListener<'event'>): () => void;
  on(type: string, listener: (payload: never, origin: never) => void): () => void {
    return this.#emitter.on(type, listener);
  }

  /** Idempotent. After a close for good (`replaced`, `administrator`, `signed_out`) it is the user's way back. */
  connect(): void {
    this.#context.timers.open();
    this.#link.start();
  }

  /** Idempotent. Resolves when the state is stored; the socket and every timer are gone at once. */
  async close(): Promise<void> {
    this.#link.stop('closed');
    await this.#saver.save();
  }

  /** Tells the others in this dialog. True when a frame went out: at most one per dialog in two seconds does, and none offline. */
  typing(conversationId: string): boolean {
    return this.#typing.mayTell(conversationId) && this.#link.send({ type: 'typing', conversation_id: conversationId });
  }

  /** Who types there now. */
  typingIn(conversationId: string): readonly TypingFrame[] {
    return this.#typing.in(conversationId);
  }

  /** Asks the messenger for everything since the last seqs, as after a loss. The client does so by itself whenever it must. */
  sync(): void {
    this.#catchUp.request();
  }

  async #token(isStale: boolean): Promise<string | null> {
    this.#loaded ??= this.#load();
    await this.#loaded;
    return this.#options.token({ refresh: isStale });
  }

  #target(token: string): LinkTarget {
    const { url, tokenIn } = this.#options;
    const target = new URL(typeof url === 'function' ? url() : url, globalThis.location?.href);
    target.protocol = target.protocol.replace('http', 'ws');
    this.#sentCursor = this.#ledger.cursor;
    if (this.#sentCursor !== undefined) target.searchParams.set('cursor', this.#sentCursor);
    if (tokenIn === 'query') target.searchParams.set('token', token);
    return { url: target.href, protocols: tokenIn === 'query' ? [] : ['bearer', token] };
  }

  async #load(): Promise<void> {
    const state = await this.#saver.load();
    this.#ledger.restore(state);
    this.#userId = state?.user_id;
  }

  #state(): ClientState {
    return { ...this.#ledger.snapshot(), user_id: this.#userId };
  }

  #receive(text: unknown): void {
    const frame = decodeFrame(text);
    if (frame === undefined) return;
    if ('control' in frame) this.#control(frame.control);
    else {
      this.#inbox.receive(frame.durable, String(text));
      this.#catchUp.watchGaps();
    }
    this.#saver.changed();
  }

  #control(frame: ControlFrame): void {
    switch (frame.type) {
      case 'hello':
        return this.#hello(frame);
      case 'pong':
        return this.#ledger.raise(frame.cursor);
      case 'sync.required':
        return this.#catchUp.required(frame.cursor, waitMs(frame.after_ms, 0));
      case 'sync.complete':
        return this.#syncComplete(frame);
      case 'reconnect':
        this.#ledger.raise(frame.cursor);
        return this.#link.hint(waitMs(frame.after_ms, 0));
      case 'token.expiring':
        return void this.#tokenRefresh.start();
      case 'typing':
        this.#refetch(frame);
        return this.#typing.heard(frame);
      case 'presence':
        return isPresenceEntry(frame) ? this.#presence.apply(frame) : undefined;
      case 'presence.snapshot':
        return this.#presence.replace(presenceEntries(frame.presence));
      case 'error':
        return this.#refused(frame.error);
      case 'auth.ok':
        return this.#tokenRefresh.stop();
    }
  }

  #hello(frame: HelloFrame): void {
    // What was received, and is stored, is the one's; resuming from there would lose the other's. One client is for one user.
    if (this.#userId !== undefined && this.#userId !== frame.user_id) return this.#link.stop('user_changed');
    this.#userId = frame.user_id;
    this.#context.timers.clear('presence');
    this.#catchUp.hello(frame, this.#sentCursor, this.#options.initialSync !== false);
    this.#wasOnline = true;
    this.#link.established(waitMs(frame.heartbeat_ms, DEFAULT_HEARTBEAT_MS));
    this.#emitter.emit('hello', frame);
    // What waited when the client was closed, and started again, waits on.
    this.#inbox.flush();
    this.#catchUp.watchGaps();
  }

  #syncComplete(frame: SyncCompleteFrame): void {
    for (const entry of presenceEntries(frame.presence)) this.#presence.apply(entry);
    const wasOwed = this.#ledger.hole !== undefined;
    this.#catchUp.complete(frame);
    if (wasOwed && this.#ledger.hole === undefined) this.#emitter.emit('synced', this.#ledger.lastSeqs());
  }

  #handOut({ frame, origin }: InboxEvent): void {
    this.#refetch(frame);
    if (frame.type.startsWith('message.') && !hasMessage(frame)) return this.#emitter.emit('event', frame, origin);
    if (frame.type === 'message.new') {
      if (frame.conversation_id !== undefined && frame.message?.sender_id !== undefined) {
        this.#typing.stopped(frame.conversation_id, frame.message.sender_id);
      }
      this.#emitter.emit('message', frame, origin);
    }
    // The client's own events have no dot in their names, so that no messenger's type can pass for one of them.
    if (frame.type.includes('.')) this.#emitter.emit(frame.type, frame, origin);
    this.#emitter.emit('event', frame, origin);
  }

  #refetch(frame: DurableFrame | TypingFrame): void {
    const cards = staleCards(frame, this.#context.timers);
    if (cards !== undefined) this.#emitter.emit('refetch', cards);
  }

  #refused(error: FrameError): void {
    if (this.#catchUp.failed(error)) return;
    this.#tokenRefresh.refused(error);
    this.#emitter.emit('error', error);
  }

  #down(): void {
    const { timers, timing } = this.#context;
    this.#catchUp.disconnected();
    // The next connection brings a token of its own.
    this.#tokenRefresh.stop();
    if (!timers.has('presence')) timers.set('presence', timing.presenceExpiryMs, () => this.#presence.forget());
  }

  #holeChanged(): void {
    void this.#saver.save();
    this.#refreshStatus();
  }

  #failed(code: string, cause: unknown): void {
    this.#emitter.emit('error', { code, message: cause instanceof Error ? cause.message : String(cause), cause });
  }

  #refreshStatus(): void {
    const { phase, reason, closeCode, retryInMs } = this.#link.status;
    const state = this.#stateOf(phase);
    const status = { state, reason: state === 'syncing' ? this.#catchUp.failure : reason, closeCode, retryInMs };
    if (phase === 'closed') this.#closed();
    if (JSON.stringify(status) === JSON.stringify(this.#status)) return;
    this.#status = status;
    this.#emitter.emit('status', status);
  }

  #closed(): void {
    this.#context.timers.close();
    this.#typing.stopAll();
    this.#presence.forget();
  }

  #stateOf(phase: LinkPhase): ConnectionState {
    if (phase === 'open') return this.#ledger.hole === undefined ? 'online' : 'syncing';
    if (phase === 'paused') return 'offline';
    if (phase === 'idle' || phase === 'closed') return phase;
    return this.#wasOnline ? 'reconnecting' : 'connecting';
  }
}

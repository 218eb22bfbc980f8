import { Backoff } from './backoff.js';
import { closeRule } from './close-codes.js';
import type { Context } from './context.js';
import type { ClientFrame } from './frames.js';
import { Heartbeat } from './heartbeat.js';
import type { PageSignal, PageSignals } from './page-signals.js';
import type { WebSocketConstructor, WebSocketLike } from './web-socket.js';

export interface LinkTarget {
  readonly url: string;
  readonly protocols: string[];
}

export interface LinkPorts {
  /** `isStale`: the last one was refused. null: nobody is signed in, stop. */
  token(isStale: boolean): Promise<string | null>;
  target(token: string): LinkTarget;
  text(data: unknown): void;
  /** The socket is gone; nothing more comes from it. */
  down(): void;
  rest(): void;
  changed(): void;
  failed(code: string, cause: unknown): void;
}

/**
 * idle → connecting → open → waiting → connecting …
 * waiting → paused (no network, nobody looks, frozen) → connecting; any → closed, and only `start` leads out of that.
 */
export type LinkPhase = 'idle' | 'connecting' | 'open' | 'waiting' | 'paused' | 'closed';

export interface LinkStatus {
  readonly phase: LinkPhase;
  /** Why it is not open; the last reason stays while the next attempt runs. */
  readonly reason?: string | undefined;
  readonly closeCode?: number | undefined;
  readonly retryInMs?: number | undefined;
}

/** A pause ends by itself after this long: `navigator.onLine` is wrong on some machines. */
const MAX_PAUSE_MS = 60_000;
/** Whoever comes back online is rarely alone: an office, a train. Whoever looks at the page is. */
const ONLINE_SPREAD_MS = 1_000;
const WAKE_PAUSE_MS = 1_000;
/** Every so many attempts without a `hello` the token is suspected: a browser is not told that an upgrade was refused with 401. */
const VAIN_ATTEMPTS_PER_TOKEN = 3;

/** One connection that is kept up: attempts, back-off, liveness, pauses. Knows sockets and nothing of what goes through them. */
export class Link {
  readonly #context: Context;
  readonly #webSocket: WebSocketConstructor;
  readonly #page: PageSignals | null | undefined;
  readonly #ports: LinkPorts;
  readonly #backoff: Backoff;
  readonly #heartbeat: Heartbeat;
  #status: LinkStatus = { phase: 'idle' };
  #socket: WebSocketLike | undefined;
  /** Which attempt it is: what an older one brings is ignored. */
  #attempt = 0;
  #attemptedAtMs = 0;
  #hintMs: number | undefined;
  #isTokenStale = false;
  /** Attempts since the last `hello`. */
  #vainAttempts = 0;
  #hiddenSinceMs: number | undefined;
  #stopListening: (() => void) | undefined;

  constructor(context: Context, webSocket: WebSocketConstructor, page: PageSignals | null | undefined, ports: LinkPorts) {
    this.#context = context;
    this.#webSocket = webSocket;
    this.#page = page;
    this.#ports = ports;
    this.#backoff = new Backoff(context.timing, context.random);
    this.#heartbeat = new Heartbeat(
      context,
      () => this.send({ type: 'ping' }),
      () => this.#lost('heartbeat', undefined),
    );
  }

  get status(): LinkStatus {
    return this.#status;
  }

  start(): void {
    if (this.#status.phase !== 'idle' && this.#status.phase !== 'closed') return;
    this.#backoff.reset();
    this.#hiddenSinceMs = this.#page?.isHidden() === true ? this.#context.clock.nowMs() : undefined;
    this.#stopListening = this.#page?.listen((signal) => this.#heard(signal));
    this.#connect();
  }

  stop(reason: string, closeCode?: number): void {
    if (this.#status.phase === 'closed') return;
    this.#stopListening?.();
    this.#release();
    this.#set({ phase: 'closed', reason, closeCode });
  }

  /** False when there is nothing to send it on. */
  send(frame: ClientFrame): boolean {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** `hello` has come: the connection is one. */
  established(heartbeatMs: number): void {
    this.#context.timers.clear('connect');
    this.#vainAttempts = 0;
    this.#heartbeat.start(heartbeatMs);
    this.#context.timers.set('stable', this.#context.timing.stableAfterMs, () => this.#backoff.reset());
    this.#set({ phase: 'open' });
  }

  /** The gateway is about to close and says when to come back. */
  hint(afterMs: number): void {
    this.#hintMs = afterMs;
  }

  #connect(): void {
    const attempt = this.#release();
    if (attempt !== this.#attempt) return;
    this.#attemptedAtMs = this.#context.clock.nowMs();
    this.#hintMs = undefined;
    this.#context.timers.set('connect', this.#context.timing.connectTimeoutMs, () => this.#lost('connect_timeout', undefined));
    this.#set({ ...this.#status, phase: 'connecting', retryInMs: undefined });
    void this.#open(attempt);
  }

  async #open(attempt: number): Promise<void> {
    if (attempt !== this.#attempt) return;
    let reason = 'token_unavailable';
    try {
      const isTokenStale = this.#isTokenStale || this.#vainAttempts % VAIN_ATTEMPTS_PER_TOKEN === VAIN_ATTEMPTS_PER_TOKEN - 1;
      this.#vainAttempts += 1;
      const token = await this.#ports.token(isTokenStale);
      if (attempt !== this.#attempt) return;
      if (token === null) return this.stop('signed_out');
      this.#isTokenStale = false;
      reason = 'connect_failed';
      const target = this.#ports.target(token);
      this.#attach(new this.#webSocket(target.url, target.protocols));
    } catch (error) {
      if (attempt !== this.#attempt) return;
      this.#ports.failed(reason, error);
      if (attempt === this.#attempt) this.#lost(reason, undefined);
    }
  }

  #attach(socket: WebSocketLike): void {
    this.#socket = socket;
    socket.onmessage = (event: { readonly data: unknown }) => {
      if (this.#socket !== socket) return;
      this.#heartbeat.heard();
      this.#ports.text(event.data);
    };
    socket.onclose = (event: { readonly code: number }) => {
      if (this.#socket === socket) this.#closed(event.code);
    };
    // `close` follows and says all there is; without a listener, `ws` would end the process.
    socket.onerror = () => {};
  }

  #closed(code: number): void {
    const rule = closeRule(code);
    if (rule.after === 'new_token') this.#isTokenStale = true;
    if (rule.reconnect) this.#lost(rule.reason, code);
    else this.stop(rule.reason, code);
  }

  #lost(reason: string, closeCode: number | undefined): void {
    const attempt = this.#release();
    if (attempt !== this.#attempt) return;
    const pauseReason = this.#pauseReason();
    if (pauseReason !== undefined) return this.#pause(pauseReason);
    const retryInMs = this.#backoff.nextMs(this.#hintMs);
    this.#hintMs = undefined;
    this.#context.timers.set('retry', retryInMs, () => this.#retry());
    this.#set({ phase: 'waiting', reason, closeCode, retryInMs });
  }

  #retry(): void {
    const pauseReason = this.#pauseReason();
    if (pauseReason === undefined) this.#connect();
    else this.#pause(pauseReason);
  }

  #pauseReason(): string | undefined {
    if (this.#page?.isOffline() === true) return 'no_network';
    const hiddenMs = this.#hiddenSinceMs === undefined ? 0 : this.#context.clock.nowMs() - this.#hiddenSinceMs;
    return hiddenMs > this.#context.timing.hiddenPauseMs ? 'hidden' : undefined;
  }

  #pause(reason: string): void {
    const attempt = this.#release();
    if (attempt !== this.#attempt) return;
    this.#set({ phase: 'paused', reason });
    if (reason === 'no_network') this.#context.timers.set('retry', MAX_PAUSE_MS, () => this.#connect());
  }

  /**
   * Ends the attempt at hand and returns the number of the next. Whoever goes on from here compares it: what waited is handed out when a
   * connection ends, and a listener may close the client, or start it again.
   */
  #release(): number {
    const socket = this.#socket;
    this.#attempt += 1;
    const attempt = this.#attempt;
    this.#socket = undefined;
    this.#heartbeat.stop();
    for (const name of ['connect', 'stable', 'retry']) this.#context.timers.clear(name);
    socket?.close(1000);
    if (socket !== undefined) this.#ports.down();
    return attempt;
  }

  #heard(signal: PageSignal): void {
    if (this.#page?.isHidden() === true) this.#hiddenSinceMs ??= this.#context.clock.nowMs();
    else this.#hiddenSinceMs = undefined;
    if (signal === 'rest' || signal === 'freeze') this.#ports.rest();
    if (signal === 'freeze') this.#pause('frozen');
    if (signal === 'offline') this.#offline();
    if (signal === 'wake' || signal === 'online') this.#wake(signal === 'online' ? this.#context.random() * ONLINE_SPREAD_MS : 0);
  }

  #offline(): void {
    // An open socket may survive a change of network: it is asked. What waits, waits for the network.
    if (this.#status.phase === 'open') this.#heartbeat.probe();
    else if (this.#status.phase !== 'closed') this.#pause('no_network');
  }

  #wake(delayMs: number): void {
    const { phase } = this.#status;
    if (phase === 'open') return this.#heartbeat.probe();
    if (phase !== 'waiting' && phase !== 'paused') return;
    // Somebody who flips between tabs is no reason for an attempt each time.
    const soonestMs = this.#attemptedAtMs + WAKE_PAUSE_MS - this.#context.clock.nowMs();
    this.#context.timers.set('retry', Math.max(delayMs, soonestMs), () => this.#retry());
  }

  #set(status: LinkStatus): void {
    this.#status = status;
    this.#ports.changed();
  }
}

import WebSocket from 'ws';
import { textOf } from './read-frame.js';
import { type ChaosClientOptions, connectTimeoutMs, firstRetryMs, longestRetryMs } from './chaos-client.js';

export interface LeanSocketHandlers {
  /** The client's cursor, for the connection that is about to be opened. */
  cursor(): string | undefined;
  text(text: string): void;
  /** The connection is gone; the next one is on its way. */
  lost(): void;
}

const ping = JSON.stringify({ type: 'ping' });
/** Heartbeats without a frame after which a connection counts as dead. */
const silentHeartbeats = 3;

/** A connection that is kept up: on the next URL each time, with a back-off of full jitter. */
export class LeanSocket {
  readonly #options: ChaosClientOptions;
  readonly #handlers: LeanSocketHandlers;
  #socket: WebSocket | undefined;
  #attempts = 0;
  #failures = 0;
  #heardAtMs = 0;
  #hintMs: number | undefined;
  #isStopped = false;
  #retry: NodeJS.Timeout | undefined;
  #liveness: NodeJS.Timeout | undefined;

  constructor(options: ChaosClientOptions, handlers: LeanSocketHandlers) {
    this.#options = options;
    this.#handlers = handlers;
  }

  open(): void {
    const { urls, token, audit, onClosed } = this.#options;
    const url = urls[this.#attempts++ % urls.length] ?? '';
    const target = new URL(url);
    target.searchParams.set('token', token);
    const cursor = this.#handlers.cursor();
    if (cursor !== undefined) target.searchParams.set('cursor', cursor);
    audit.opening(target.href);
    const socket = new WebSocket(target, { perMessageDeflate: false, handshakeTimeout: connectTimeoutMs });
    this.#socket = socket;
    let wasOpen = false;
    socket.on('open', () => {
      wasOpen = true;
      this.#watch(socket, connectTimeoutMs);
    });
    socket.on('message', (data) => {
      if (this.#socket !== socket) return;
      this.#heardAtMs = performance.now();
      const text = textOf(data);
      audit.received(text);
      this.#handlers.text(text);
    });
    socket.on('error', () => undefined); // `close` follows
    socket.on('close', (code) => {
      if (this.#socket !== socket) return;
      if (wasOpen) {
        audit.closed(code);
        onClosed(url, code);
      }
      this.#end(socket);
    });
  }

  /** `hello` has come: from now on the other side is pinged, and dead when it is silent for too long. */
  greeted(heartbeatMs: number): void {
    this.#failures = 0;
    if (this.#socket !== undefined) this.#watch(this.#socket, heartbeatMs * silentHeartbeats, heartbeatMs);
  }

  /** When to come back after the close that follows. */
  hint(afterMs: number): void {
    this.#hintMs = afterMs;
  }

  send(text: string): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#options.audit.sent(text);
    this.#socket.send(text);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    if (this.#socket !== undefined) this.#end(this.#socket);
  }

  #watch(socket: WebSocket, silenceMs: number, pingEveryMs = silenceMs): void {
    this.#heardAtMs = performance.now();
    clearInterval(this.#liveness);
    this.#liveness = setInterval(() => {
      if (performance.now() - this.#heardAtMs >= silenceMs) this.#end(socket);
      else if (pingEveryMs < silenceMs) this.send(ping);
    }, pingEveryMs);
  }

  #end(socket: WebSocket): void {
    this.#socket = undefined;
    clearInterval(this.#liveness);
    socket.terminate();
    this.#handlers.lost();
    if (this.#isStopped) return;
    const backoffMs = Math.random() * Math.min(longestRetryMs, firstRetryMs * 2 ** this.#failures++);
    this.#retry = setTimeout(() => this.open(), this.#hintMs ?? backoffMs);
    this.#hintMs = undefined;
  }
}

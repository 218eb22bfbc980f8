import { type ClientFrame, type ClientFrameError, decodeClientFrame, type ErrorFrame, type FrameCursor } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';
import type { HandlerResult, InboundCloseReason, InboundConnection } from './inbound-connection.js';
import type { InboundMetrics } from './inbound-metrics.js';
import { type AuthPort, OnAuth } from './on-auth.js';
import { onPing } from './on-ping.js';
import { onSync, type SyncPort } from './on-sync.js';
import { onTyping, type TypingPort } from './on-typing.js';
import { type FrameBudget, RateLimit, type RateLimitOptions } from './rate-limit.js';
import { countViolation } from './violations.js';

export interface InboundDeps<C> {
  readonly clock: Clock;
  readonly metrics: Pick<InboundMetrics, 'received'>;
  readonly typing: TypingPort<C>;
  readonly sync: SyncPort<C>;
  readonly auth: AuthPort<C>;
  /** The last id that this replica has handled and flushed; undefined while the socket catches up. */
  pongCursor(connection: C): FrameCursor | undefined;
}

export interface InboundOptions extends RateLimitOptions {
  readonly maxFrameBytes: number;
  readonly inboundMaxDepth: number;
  readonly inboundMaxViolations: number;
}

/** What is kept of a connection that has sent something. */
interface Sender {
  readonly budget: FrameBudget;
  violationsMs: number[] | undefined;
  /** Frames that wait for `hello`. */
  heldBytes: number;
}

/** What a held frame costs besides its bytes: empty ones must not be free. */
const heldFrameBytes = 256;

/**
 * Walk 2: one client frame, from the socket to its handler. Size, rate and form are judged here; what the frame asks for is done by
 * the room that it belongs to, behind a port.
 */
export class Inbound<C extends InboundConnection> {
  readonly #deps: InboundDeps<C>;
  readonly #options: InboundOptions;
  readonly #rateLimit: RateLimit;
  readonly #onAuth: OnAuth<C>;
  readonly #senders = new WeakMap<C, Sender>();

  constructor(deps: InboundDeps<C>, options: InboundOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#rateLimit = new RateLimit(options);
    this.#onAuth = new OnAuth(deps.auth, deps.clock, deps.metrics);
  }

  /**
   * One message of the socket.
   * @param bytes a copy: they may be kept until `hello` has been sent
   */
  onMessage(connection: C, bytes: Uint8Array, isBinary: boolean): void {
    if (!connection.isOpen) return;
    if (bytes.byteLength > this.#options.maxFrameBytes) this.#refuseSize(connection);
    else if (connection.isGreeted) this.#receive(connection, bytes, isBinary);
    else this.#hold(connection, bytes, isBinary);
  }

  /** A client may speak before it was greeted. What it says waits, up to the size of one frame; more is over the rate. */
  #hold(connection: C, bytes: Uint8Array, isBinary: boolean): void {
    const sender = this.#senderOf(connection);
    const maxHeldBytes = this.#options.maxFrameBytes + heldFrameBytes;
    const wasFull = sender.heldBytes > maxHeldBytes;
    sender.heldBytes += bytes.byteLength + heldFrameBytes;
    if (sender.heldBytes <= maxHeldBytes) {
      void this.#afterGreeting(connection, () => this.#receive(connection, bytes, isBinary));
      return;
    }
    this.#deps.metrics.received('other', 'rate_limited');
    if (!wasFull) void this.#afterGreeting(connection, () => this.#tellDropped(connection, sender));
  }

  async #afterGreeting(connection: C, run: () => void): Promise<void> {
    await connection.greeted();
    if (connection.isOpen) run();
  }

  #receive(connection: C, bytes: Uint8Array, isBinary: boolean): void {
    if (!this.#isWithinRate(connection)) return;
    if (isBinary) {
      this.#refuse(connection, { error: 'binary', message: 'frames are text' });
      return;
    }
    const frame = decodeClientFrame(bytes, { maxDepth: this.#options.inboundMaxDepth });
    if ('error' in frame) this.#refuse(connection, frame);
    else if (frame.type === 'auth') void this.#onAuth.handle(connection, frame).then((result) => this.#end(connection, result));
    else this.#end(connection, this.#handle(connection, frame));
  }

  #handle(connection: C, frame: Exclude<ClientFrame, { type: 'auth' }>): HandlerResult {
    this.#deps.metrics.received(frame.type, 'ok');
    switch (frame.type) {
      case 'ping':
        return onPing(connection, this.#deps.pongCursor(connection));
      case 'typing':
        return onTyping(connection, frame, this.#deps.typing);
      case 'sync':
        return onSync(connection, frame, this.#deps.sync);
    }
  }

  #end(connection: C, result: HandlerResult): void {
    if (result !== 'ok') connection.close(result);
  }

  #isWithinRate(connection: C): boolean {
    const sender = this.#senderOf(connection);
    const verdict = this.#rateLimit.take(sender.budget, this.#deps.clock.nowMs());
    if (verdict === 'taken') return true;
    this.#deps.metrics.received('other', 'rate_limited');
    if (verdict === 'dropped') return false;
    this.#tellDropped(connection, sender);
    if (verdict === 'flooding') this.#countViolation(connection, sender, 'flooding');
    return false;
  }

  #tellDropped(connection: C, { budget }: Sender): void {
    const retryAfterMs = this.#rateLimit.waitMs(budget);
    this.#tell(connection, { code: 'rate_limited', message: 'too many frames at once: dropped', retry_after_ms: retryAfterMs });
  }

  /** A type that is not known is answered and does not count: the client may be newer than this gateway. */
  #refuse(connection: C, { error, message, ref }: ClientFrameError | { error: 'binary'; message: string; ref?: string }): void {
    this.#deps.metrics.received('other', error);
    this.#tell(connection, { code: error, message, ...(ref === undefined ? {} : { ref }) });
    if (error !== 'unknown_type') this.#countViolation(connection, this.#senderOf(connection), 'protocol_violation');
  }

  #refuseSize(connection: C): void {
    this.#deps.metrics.received('other', 'too_big');
    // Before `hello` the close alone says it.
    if (connection.isGreeted) this.#tell(connection, { code: 'too_big', message: `a frame may have ${this.#options.maxFrameBytes} bytes` });
    connection.close('too_big');
  }

  #countViolation(connection: C, sender: Sender, reason: InboundCloseReason): void {
    sender.violationsMs ??= [];
    if (countViolation(sender.violationsMs, this.#deps.clock.nowMs(), this.#options.inboundMaxViolations)) connection.close(reason);
  }

  #tell(connection: C, error: ErrorFrame['error']): void {
    connection.writeControl({ type: 'error', error });
  }

  #senderOf(connection: C): Sender {
    let sender = this.#senders.get(connection);
    if (sender === undefined) {
      sender = { budget: this.#rateLimit.newBudget(this.#deps.clock.nowMs()), violationsMs: undefined, heldBytes: 0 };
      this.#senders.set(connection, sender);
    }
    return sender;
  }
}

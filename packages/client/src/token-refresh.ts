import type { Context } from './context.js';
import { type FrameError, waitMs } from './frames.js';

export interface TokenRequest {
  /** The last token was refused, or is about to expire: a cached one will not do. */
  readonly refresh: boolean;
}

/** Answers with a JWT; with null when nobody is signed in (the client closes); rejects when it can't tell (the client tries again). */
export type TokenProvider = (request: TokenRequest) => string | null | Promise<string | null>;

/** A refresh that failed is tried again this often while the old token lasts. */
const REFRESH_RETRY_MS = 5_000;
/** A token that could not be judged is sent again after this when the gateway names no wait, and never sooner. */
const RESEND_MS = 1_000;

export interface TokenRefreshPorts {
  readonly provider: TokenProvider;
  send(token: string): void;
  failed(cause: unknown): void;
}

/**
 * Brings the open connection a new token before its old one expires, and again while the gateway cannot judge it. A provider that has
 * none lets the old one expire.
 */
export class TokenRefresh {
  readonly #context: Context;
  readonly #ports: TokenRefreshPorts;
  /** Which refresh it is: what an older one brings, or one of an older connection, is ignored. */
  #round = 0;
  /** Sent, and neither accepted nor refused. */
  #unanswered: string | undefined;

  constructor(context: Context, ports: TokenRefreshPorts) {
    this.#context = context;
    this.#ports = ports;
  }

  async start(): Promise<void> {
    this.stop();
    const round = this.#round;
    try {
      const token = await this.#ports.provider({ refresh: true });
      if (round === this.#round && token !== null) this.#send(token);
    } catch (error) {
      if (round !== this.#round) return;
      this.#ports.failed(error);
      this.#context.timers.set('token', REFRESH_RETRY_MS, () => void this.start());
    }
  }

  /** The gateway has taken the token, or the connection that it was for is gone. */
  stop(): void {
    this.#round += 1;
    this.#unanswered = undefined;
    this.#context.timers.clear('token');
  }

  /**
   * `rate_limited` does not say what it is about. While a token is unanswered it may be that: one too many does no harm, one too few
   * costs the connection.
   */
  refused(error: FrameError): void {
    const token = this.#unanswered;
    if (token === undefined || error.code !== 'rate_limited' || error.ref !== undefined || this.#context.timers.has('token')) return;
    const afterMs = Math.max(RESEND_MS, waitMs(error.retry_after_ms, 0));
    // The same wait was told to everybody, so some of it is random.
    this.#context.timers.set('token', afterMs + (this.#context.random() * afterMs) / 2, () => this.#send(token));
  }

  #send(token: string): void {
    this.#unanswered = token;
    this.#ports.send(token);
  }
}

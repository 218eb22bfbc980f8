import type { Timers } from './timers.js';

export interface TokenRequest {
  /** The last token was refused, or is about to expire: a cached one will not do. */
  readonly refresh: boolean;
}

/** Answers with a JWT; with null when nobody is signed in (the client closes); rejects when it can't tell (the client tries again). */
export type TokenProvider = (request: TokenRequest) => string | null | Promise<string | null>;

/** A refresh that failed is tried again this often while the old token lasts. */
const REFRESH_RETRY_MS = 5_000;

/** Brings an open connection a new token before its old one expires. */
export class TokenRefresh {
  readonly #provider: TokenProvider;
  readonly #timers: Timers;
  readonly #send: (token: string) => void;
  readonly #failed: (cause: unknown) => void;

  constructor(provider: TokenProvider, timers: Timers, send: (token: string) => void, failed: (cause: unknown) => void) {
    this.#provider = provider;
    this.#timers = timers;
    this.#send = send;
    this.#failed = failed;
  }

  /** Until there is one. A provider that has none lets the old one expire. */
  async refresh(): Promise<void> {
    try {
      const token = await this.#provider({ refresh: true });
      if (token !== null) this.#send(token);
    } catch (error) {
      this.#failed(error);
      this.#timers.set('token', REFRESH_RETRY_MS, () => void this.refresh());
    }
  }

  /** The connection is gone: the next one brings its own. */
  disconnected(): void {
    this.#timers.clear('token');
  }
}

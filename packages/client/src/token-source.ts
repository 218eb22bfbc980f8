import type { Timers } from './timers.js';

export interface TokenRequest {
  /** The last token was refused, or is about to expire: a cached one will not do. */
  readonly refresh: boolean;
}

/** Answers with a JWT; with null when nobody is signed in (the client closes); rejects when it can't tell (the client tries again). */
export type TokenProvider = (request: TokenRequest) => string | null | Promise<string | null>;

/** A refresh that failed is tried again this often while the old token lasts. */
const REFRESH_RETRY_MS = 5_000;

/** Asks the application for tokens: one for each attempt to connect, and one in time before the connection's own expires. */
export class TokenSource {
  readonly #provider: TokenProvider;
  readonly #timers: Timers;
  readonly #failed: (cause: unknown) => void;
  #refreshNumber = 0;

  constructor(provider: TokenProvider, timers: Timers, failed: (cause: unknown) => void) {
    this.#provider = provider;
    this.#timers = timers;
    this.#failed = failed;
  }

  async forConnect(isStale: boolean): Promise<string | null> {
    return this.#provider({ refresh: isStale });
  }

  /** `send` hands the new token to the connection that asked. A provider that has none lets the old one expire. */
  async refresh(send: (token: string) => void): Promise<void> {
    this.#refreshNumber += 1;
    const number = this.#refreshNumber;
    try {
      const token = await this.#provider({ refresh: true });
      if (number === this.#refreshNumber && token !== null) send(token);
    } catch (error) {
      if (number !== this.#refreshNumber) return;
      this.#failed(error);
      this.#timers.set('token', REFRESH_RETRY_MS, () => void this.refresh(send));
    }
  }

  /** The connection is gone: the next one brings its own. */
  disconnected(): void {
    this.#refreshNumber += 1;
    this.#timers.clear('token');
  }
}

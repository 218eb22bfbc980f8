import type { Timers } from './timers.js';

export interface TokenRequest {
  /** The last token was refused, or is about to expire: a cached one will not do. */
  readonly refresh: boolean;
}

/** Answers with a JWT; with null when nobody is signed in (the client closes); rejects when it can't tell (the client tries again). */
export type TokenProvider = (request: TokenRequest) => string | null | Promise<string | null>;

/** A refresh that failed is tried again this often while the old token lasts. */
const REFRESH_RETRY_MS = 5_000;

export interface TokenRefreshPorts {
  readonly provider: TokenProvider;
  send(token: string): void;
  failed(cause: unknown): void;
}

/** Brings the open connection a new token before its old one expires. A provider that has none lets that one expire. */
export async function refreshToken(timers: Timers, ports: TokenRefreshPorts): Promise<void> {
  try {
    const token = await ports.provider({ refresh: true });
    if (token !== null) ports.send(token);
  } catch (error) {
    ports.failed(error);
    timers.set('token', REFRESH_RETRY_MS, () => void refreshToken(timers, ports));
  }
}

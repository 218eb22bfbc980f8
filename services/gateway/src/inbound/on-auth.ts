import type { AuthFrame, UserId } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';
import type { HandlerResult, InboundConnection } from './inbound-connection.js';
import type { InboundMetrics } from './inbound-metrics.js';

/** What a fresh token comes to: whom it speaks for and until when (Unix ms), or the refusal. */
export type TokenVerdict =
  | { readonly userId: UserId; readonly expiresAtMs: number }
  | { readonly status: 401 | 403 | 503; readonly retryAfterS?: number };

export interface AuthPort<C> {
  /** Never rejects. */
  authenticate(token: string): Promise<TokenVerdict>;
  renewExpiry(connection: C, expiresAtMs: number): void;
}

/** How long a client waits before it sends its token again, when nobody says so. */
const retryAfterMs = 1000;

/**
 * A fresh token for a connection that goes on. Anything but a good token of the same user ends the connection; a token that cannot be
 * judged now (the issuer cannot be asked for its key) is answered as `rate_limited`: the old one still holds.
 */
export class OnAuth<C extends InboundConnection> {
  readonly #auth: AuthPort<C>;
  readonly #clock: Clock;
  readonly #metrics: Pick<InboundMetrics, 'received'>;
  /** One at a time for a connection: a verification costs a hundred times what a ping does. */
  readonly #busy = new WeakSet<C>();

  constructor(auth: AuthPort<C>, clock: Clock, metrics: Pick<InboundMetrics, 'received'>) {
    this.#auth = auth;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  async handle(connection: C, { token }: AuthFrame): Promise<HandlerResult> {
    if (this.#busy.has(connection)) return this.#askAgain(connection, 'rate_limited', retryAfterMs);
    this.#busy.add(connection);
    const verdict = await this.#auth.authenticate(token);
    this.#busy.delete(connection);
    if (!connection.isOpen) return 'ok';
    if ('userId' in verdict && verdict.userId === connection.userId) return this.#renew(connection, verdict.expiresAtMs);
    if ('status' in verdict && verdict.status === 503) {
      return this.#askAgain(connection, 'unavailable', (verdict.retryAfterS ?? 1) * 1000);
    }
    this.#metrics.received('auth', 'refused');
    return 'token_refused';
  }

  #renew(connection: C, expiresAtMs: number): HandlerResult {
    this.#metrics.received('auth', 'ok');
    this.#auth.renewExpiry(connection, expiresAtMs);
    connection.writeControl({ type: 'auth.ok', expires_in_ms: Math.max(0, Math.ceil(expiresAtMs - this.#clock.wallMs())) });
    return 'ok';
  }

  #askAgain(connection: C, outcome: 'rate_limited' | 'unavailable', afterMs: number): HandlerResult {
    this.#metrics.received('auth', outcome);
    const message = outcome === 'unavailable' ? 'the token cannot be verified now' : 'the last token is still being verified';
    connection.writeControl({ type: 'error', error: { code: 'rate_limited', message, retry_after_ms: afterMs } });
    return 'ok';
  }
}

import type { CatchUpTiming } from './catch-up.js';
import type { Clock } from './clock.js';
import type { LinkTiming } from './link.js';
import type { PageSignals } from './page-signals.js';
import type { StaleCards } from './stale-cards.js';
import type { StateStorage } from './storage.js';
import type { TokenProvider } from './token-refresh.js';
import type { TypingTiming } from './typing.js';
import type { WebSocketConstructor } from './web-socket.js';

export interface ClientTiming extends LinkTiming, CatchUpTiming, TypingTiming {
  /** The state is stored at most this often; a hole that opens or closes, and a page that goes away, are stored at once. */
  readonly saveEveryMs: number;
  /** Without a connection for this long, everybody's presence is unknown. */
  readonly presenceExpiryMs: number;
}

export interface GatewayClientOptions {
  /** `wss://chat.example/api/v1/ws`; a function is asked at every attempt. A relative one is the page's host. */
  readonly url: string | (() => string);
  readonly token: TokenProvider;
  /** Default: the platform's. Node 20 has none: give it the one of `ws`. */
  readonly webSocket?: WebSocketConstructor | undefined;
  /** Where the token travels. Default `subprotocol`, for a query ends up in the logs of every proxy. */
  readonly tokenIn?: 'subprotocol' | 'query';
  /** On a first start, sync: the messenger sends the user's dialogs. Default true. */
  readonly initialSync?: boolean;
  /** Default: none, which is right for an application that keeps the messages in memory. */
  readonly storage?: StateStorage | undefined;
  /** Called when a frame came without names because their owner was ill: fetch them another way, if there is one. */
  readonly refetch?: (cards: StaleCards) => void;
  readonly timing?: Partial<ClientTiming>;
  /** Default: the browser's page, if there is one. null: never pause. */
  readonly page?: PageSignals | null;
  readonly clock?: Clock;
  /** 0 ≤ x < 1. */
  readonly random?: () => number;
}

export const DEFAULT_TIMING: ClientTiming = Object.freeze({
  // The gateway's RECONNECT_JITTER_MS.
  firstRetryMaxMs: 5_000,
  backoffBaseMs: 1_000,
  backoffMaxMs: 30_000,
  // Longer than any back-off: whoever is thrown out again and again does not start over each time.
  stableAfterMs: 30_000,
  connectTimeoutMs: 15_000,
  pongTimeoutMs: 10_000,
  probeTimeoutMs: 5_000,
  hiddenPauseMs: 600_000,
  gapGraceMs: 300,
  gapSpreadMs: 1_000,
  syncPatienceMs: 60_000,
  // The longest that `sync.required` spreads (5 s), and a sync.
  holdMs: 8_000,
  typingEveryMs: 2_000,
  typingExpiryMs: 3_000,
  saveEveryMs: 1_000,
  presenceExpiryMs: 30_000,
});

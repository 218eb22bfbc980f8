import type { Clock } from './clock.js';
import type { PageSignals } from './page-signals.js';
import type { StaleCards } from './stale-cards.js';
import type { StateStorage } from './storage.js';
import type { ClientTiming } from './timing.js';
import type { TokenProvider } from './token-refresh.js';
import type { WebSocketConstructor } from './web-socket.js';

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

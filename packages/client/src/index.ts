export type { ClientError, ClientEvents, ClientListener, ConnectionState, ConnectionStatus, DottedType } from './client-events.js';
export type { ClientState } from './client-state.js';
export type { Clock } from './clock.js';
export { CLOSE_CODES, type CloseRule, type ReconnectAfter } from './close-codes.js';
export type {
  ConversationCard,
  DurableFrame,
  HelloFrame,
  Message,
  MessageFrame,
  PresenceEntry,
  PresenceStatus,
  TypingFrame,
} from './frames.js';
export { GatewayClient } from './gateway-client.js';
export type { EventOrigin } from './inbox.js';
export { memoryStorage } from './memory-storage.js';
export type { GatewayClientOptions } from './options.js';
export type { PageSignal, PageSignals } from './page-signals.js';
export type { StaleCards } from './stale-cards.js';
export type { StateStorage } from './storage.js';
export { type ClientTiming, DEFAULT_TIMING } from './timing.js';
export type { TokenProvider, TokenRequest } from './token-refresh.js';
export type { TypingChange } from './typing.js';
export type { WebSocketConstructor, WebSocketLike } from './web-socket.js';
export { webStorage, type WebStorageArea } from './web-storage.js';

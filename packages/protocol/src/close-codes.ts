/** Why the gateway closes a connection with a code of its own. */
export type ServerCloseReason =
  | 'too_big'
  | 'drain'
  | 'protocol_violation'
  | 'token_expired'
  | 'token_refused'
  | 'administrator'
  | 'heartbeat'
  | 'replaced'
  | 'flooding'
  | 'slow_consumer';

/**
 * When a client may come back: `backoff` after its own full-jitter delay, `hint` after the `after_ms` of the `reconnect` frame,
 * `new_token` as soon as it holds another token, `never` not by itself (a person or the application decides).
 */
export type ReconnectAfter = 'backoff' | 'hint' | 'new_token' | 'never';

export interface CloseRule {
  readonly code: number;
  readonly reconnect: boolean;
  readonly after: ReconnectAfter;
}

export const CLOSE_CODES: Readonly<Record<ServerCloseReason, CloseRule>> = {
  too_big: { code: 1009, reconnect: true, after: 'backoff' },
  drain: { code: 1012, reconnect: true, after: 'hint' },
  protocol_violation: { code: 4400, reconnect: true, after: 'backoff' },
  token_expired: { code: 4401, reconnect: true, after: 'new_token' },
  token_refused: { code: 4401, reconnect: true, after: 'new_token' },
  administrator: { code: 4403, reconnect: false, after: 'never' },
  heartbeat: { code: 4408, reconnect: true, after: 'backoff' },
  // Reconnecting by itself would replace the connection that replaced it, and so on for ever.
  replaced: { code: 4409, reconnect: false, after: 'never' },
  flooding: { code: 4429, reconnect: true, after: 'backoff' },
  slow_consumer: { code: 4508, reconnect: true, after: 'backoff' },
};

/** What a client does after a close: back off, wait as long as the gateway said, fetch a new token first, or stay away. */
export type ReconnectAfter = 'backoff' | 'hint' | 'new_token' | 'never';

export interface CloseRule {
  readonly reason: string;
  readonly reconnect: boolean;
  readonly after: ReconnectAfter;
}

/** The gateway's close codes. Any other code is a broken connection: back off and come back. */
export const CLOSE_CODES: Readonly<Record<number, CloseRule>> = Object.freeze({
  1009: { reason: 'too_big', reconnect: true, after: 'backoff' },
  1012: { reason: 'drain', reconnect: true, after: 'hint' },
  4400: { reason: 'protocol_violation', reconnect: true, after: 'backoff' },
  4401: { reason: 'token_expired', reconnect: true, after: 'new_token' },
  4403: { reason: 'administrator', reconnect: false, after: 'never' },
  4408: { reason: 'heartbeat', reconnect: true, after: 'backoff' },
  4409: { reason: 'replaced', reconnect: false, after: 'never' },
  4429: { reason: 'flooding', reconnect: true, after: 'backoff' },
  4508: { reason: 'slow_consumer', reconnect: true, after: 'backoff' },
});

const BROKEN: CloseRule = { reason: 'network', reconnect: true, after: 'backoff' };

export function closeRule(code: number | undefined): CloseRule {
  return (code === undefined ? undefined : CLOSE_CODES[code]) ?? BROKEN;
}

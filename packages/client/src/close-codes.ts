/** What a client does after a close: back off, wait as long as the gateway said, fetch a new token first, or stay away. */
export type ReconnectAfter = 'backoff' | 'hint' | 'new_token' | 'never';

export interface CloseRule {
  readonly reason: string;
  readonly reconnect: boolean;
  readonly after: ReconnectAfter;
}

const rule = (reason: string, after: ReconnectAfter): CloseRule => ({ reason, reconnect: after !== 'never', after });

/** The gateway's close codes. Any other code is a broken connection: back off and come back. */
export const CLOSE_CODES: Readonly<Record<number, CloseRule>> = Object.freeze({
  1009: rule('too_big', 'backoff'),
  1012: rule('drain', 'hint'),
  4400: rule('protocol_violation', 'backoff'),
  4401: rule('token_expired', 'new_token'),
  4403: rule('administrator', 'never'),
  4408: rule('heartbeat', 'backoff'),
  4409: rule('replaced', 'never'),
  4429: rule('flooding', 'backoff'),
  4508: rule('slow_consumer', 'backoff'),
});

const BROKEN = rule('network', 'backoff');

export function closeRule(code: number | undefined): CloseRule {
  return (code === undefined ? undefined : CLOSE_CODES[code]) ?? BROKEN;
}

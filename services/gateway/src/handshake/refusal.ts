import { UPGRADE_REFUSAL_STATUS, type UpgradeRefusal } from '@event-gateway/protocol';

/** Why an upgrade is refused, as it is answered over HTTP. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly code: UpgradeRefusal;
  /** A constant of the code: it never repeats what the client sent. */
  readonly message: string;
  /** Whole seconds, at least 1; every 503 has it. */
  readonly retryAfterS?: number;
}

const messages: Readonly<Record<UpgradeRefusal, string>> = {
  token_missing: 'a token is required',
  token_invalid: 'the token is not valid here',
  token_expired: 'the token has expired',
  origin_forbidden: 'this origin may not connect',
  draining: 'this replica is draining',
  not_ready: 'this replica is not ready yet',
  replica_full: 'this replica holds as many connections as it may',
  rate_limited: 'too many connection attempts at once',
};

export function refuse(code: UpgradeRefusal, retryAfterS?: number): Refusal {
  const refusal = { status: UPGRADE_REFUSAL_STATUS[code], code, message: messages[code] };
  return retryAfterS === undefined ? refusal : { ...refusal, retryAfterS };
}

import { asUserId, type UserId } from '@event-gateway/protocol';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import type { SigningKey } from './import-keys.js';
import type { KeyLookup } from './jwks-keys.js';
import { type Refusal, refuse } from './refusal.js';
import { briefRetryAfterS } from './retry-after.js';
import { keyIdOf, type TokenClaims, type TokenRules, verifyToken } from './verify-token.js';

/** Who a good token speaks for. */
export interface Identity {
  readonly userId: UserId;
  /** When the connection must end, in whole Unix ms. */
  readonly expiresAtMs: number;
}

export interface AuthenticatorDeps {
  readonly keys: { find(kid: string): KeyLookup | Promise<KeyLookup> };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

/** The last ms that a date can hold: `exp` may be any JSON number. */
const maxDateMs = 8.64e15;

/**
 * Judges tokens: RS256 by a published key, `exp`, `nbf`, `iss`, `aud`, and a `sub` that is an id. Tokens and what is in them appear in no
 * message and no log.
 *
 * Verified tokens are not remembered. It would spare 35 µs of CPU against 1–2, but only for a client that comes back
 * to the same replica; those of a dead or drained one, who make the storms, bring tokens that the others have never seen, and the
 * accept rate bounds the cost at 2 % of a core.
 */
export class Authenticator {
  readonly #keys: AuthenticatorDeps['keys'];
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #random: () => number;
  readonly #options: TokenRules;

  constructor({ keys, clock, logger, random = Math.random }: AuthenticatorDeps, options: TokenRules) {
    this.#keys = keys;
    this.#clock = clock;
    this.#log = new RateLimitedLog(logger, clock);
    this.#random = random;
    this.#options = options;
  }

  /**
   * Never throws, never rejects; a promise only when the key has to be asked for. An unknown key while the issuer cannot be asked is
   * 503, since a 401 would log the user out.
   */
  authenticate(token: string | undefined): Identity | Refusal | Promise<Identity | Refusal> {
    if (token === undefined || token === '') return refuse('token_missing');
    const kid = keyIdOf(token);
    if (kid === undefined) return refuse('token_invalid');
    const key = this.#keys.find(kid);
    return key instanceof Promise ? key.then((found) => this.#judge(token, found)) : this.#judge(token, key);
  }

  #judge(token: string, key: KeyLookup): Identity | Refusal {
    if (key === 'unknown') return refuse('token_invalid');
    if (key === 'unavailable') return this.#notReady();
    const verdict = this.#verify(token, key);
    if (verdict === 'fault') return this.#notReady();
    if (verdict === 'expired') return refuse('token_expired');
    return verdict === 'invalid' ? refuse('token_invalid') : this.#identify(verdict);
  }

  #verify(token: string, { publicKey }: SigningKey): ReturnType<typeof verifyToken> | 'fault' {
    try {
      return verifyToken(token, publicKey, this.#options, this.#clock.wallMs());
    } catch (error) {
      this.#log.warn({ error }, 'token not verifiable by a fault of this replica');
      return 'fault';
    }
  }

  #identify({ subject, expS }: TokenClaims): Identity | Refusal {
    const userId = asUserId(subject);
    if (userId === undefined) return refuse('token_invalid');
    const expMs = Math.floor(Math.min(expS * 1000, maxDateMs));
    // Past its expiry and accepted within the leeway: the connection may use what is left of the leeway.
    return { userId, expiresAtMs: expMs > this.#clock.wallMs() ? expMs : expMs + this.#options.jwtLeewayS * 1000 };
  }

  #notReady(): Refusal {
    return refuse('not_ready', briefRetryAfterS(this.#random));
  }
}

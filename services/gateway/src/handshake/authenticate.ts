import { asUserId, type UserId } from '@event-gateway/protocol';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { SigningKey } from './import-keys.js';
import type { KeyLookup } from './jwks-keys.js';
import { type Refusal, refuse } from './refusal.js';
import { briefRetryAfterS } from './retry-after.js';

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

export interface AuthenticatorOptions {
  /** The required `iss`; any when undefined. */
  readonly jwtIssuer: string | undefined;
  /** The required `aud`, or one of them; any when undefined. */
  readonly jwtAudience: string | undefined;
  readonly jwtLeewayS: number;
}

const algorithm = 'RS256';

/** The last ms that a date can hold: `exp` may be any JSON number. */
const maxDateMs = 8.64e15;

/**
 * Judges tokens: RS256 by a published key, `exp`, `nbf`, `iss`, `aud`, and a `sub` that is an id. Tokens and what is in them appear in no
 * message and no log.
 *
 * Verified tokens are not remembered. It would spare 45 µs of CPU (jose, 100 at once) against 1–2, but only for a client that comes back
 * to the same replica; those of a dead or drained one, who make the storms, bring tokens that the others have never seen, and the
 * accept rate bounds the cost at 2 % of a core.
 */
export class Authenticator {
  readonly #keys: AuthenticatorDeps['keys'];
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #random: () => number;
  readonly #options: AuthenticatorOptions;

  constructor({ keys, clock, logger, random = Math.random }: AuthenticatorDeps, options: AuthenticatorOptions) {
    this.#keys = keys;
    this.#clock = clock;
    this.#log = new RateLimitedLog(logger, clock);
    this.#random = random;
    this.#options = options;
  }

  /** Never rejects. An unknown key while the issuer cannot be asked is 503, since a 401 would log the user out. */
  async authenticate(token: string | undefined): Promise<Identity | Refusal> {
    if (token === undefined || token === '') return refuse('token_missing');
    const kid = keyIdOf(token);
    if (kid === undefined) return refuse('token_invalid');
    const key = await this.#keys.find(kid);
    if (key === 'unknown') return refuse('token_invalid');
    if (key === 'unavailable') return this.#notReady();
    return this.#verify(token, key);
  }

  async #verify(token: string, { publicKey }: SigningKey): Promise<Identity | Refusal> {
    const { jwtIssuer, jwtAudience, jwtLeewayS } = this.#options;
    try {
      const { payload } = await jwtVerify(token, publicKey, {
        algorithms: [algorithm],
        clockTolerance: jwtLeewayS,
        currentDate: new Date(this.#clock.wallMs()),
        ...(jwtIssuer === undefined ? {} : { issuer: jwtIssuer }),
        ...(jwtAudience === undefined ? {} : { audience: jwtAudience }),
      });
      return this.#identify(payload);
    } catch (error) {
      if (error instanceof errors.JWTExpired) return refuse('token_expired');
      if (error instanceof errors.JOSEError) return refuse('token_invalid');
      this.#log.warn({ error }, 'token not verifiable by a fault of this replica');
      return this.#notReady();
    }
  }

  #identify({ sub, exp }: JWTPayload): Identity | Refusal {
    const userId = asUserId(sub);
    if (userId === undefined || exp === undefined) return refuse('token_invalid');
    const expMs = Math.floor(Math.min(exp * 1000, maxDateMs));
    // Past its expiry and accepted within the leeway: the connection may use what is left of the leeway.
    return { userId, expiresAtMs: expMs > this.#clock.wallMs() ? expMs : expMs + this.#options.jwtLeewayS * 1000 };
  }

  #notReady(): Refusal {
    return refuse('not_ready', briefRetryAfterS(this.#random));
  }
}

/** The kid of a token that claims to be signed as we ask; undefined for anything else. No key is looked for before that. */
function keyIdOf(token: string): string | undefined {
  try {
    const { alg, kid } = decodeProtectedHeader(token);
    return alg === algorithm && typeof kid === 'string' && kid !== '' ? kid : undefined;
  } catch {
    return undefined; // what the error means here is that this is no token
  }
}

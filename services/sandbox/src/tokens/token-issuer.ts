import { asUserId } from '@event-gateway/protocol';
import { type CryptoKey, errors, jwtVerify, SignJWT } from 'jose';
import { Refusal } from '../refusal.js';
import { SIGNING_ALGORITHM, type SigningKeys } from './signing-keys.js';

export interface TokenOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly ttlS: number;
}

/** Issues the tokens that sockets and the public API are opened with, and checks those of the API. */
export class TokenIssuer {
  readonly #keys: SigningKeys;
  readonly #options: TokenOptions;

  constructor(keys: SigningKeys, options: TokenOptions) {
    this.#keys = keys;
    this.#options = options;
  }

  async issue(userId: string, ttlS = this.#options.ttlS): Promise<{ token: string; expiresInS: number }> {
    const { kid, key } = await this.#keys.signingKey();
    const token = await new SignJWT()
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ: 'JWT' })
      .setSubject(userId)
      .setIssuer(this.#options.issuer)
      .setAudience(this.#options.audience)
      .setIssuedAt()
      .setExpirationTime(`${ttlS}s`)
      .sign(key);
    return { token, expiresInS: ttlS };
  }

  /** The user whom an `Authorization: Bearer` header speaks for. */
  async authenticate(authorization: string | undefined): Promise<string | Refusal> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return new Refusal('token_missing', 'a bearer token is required');
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.#keyFor(kid), {
        algorithms: [SIGNING_ALGORITHM],
        issuer: this.#options.issuer,
        audience: this.#options.audience,
        requiredClaims: ['exp', 'sub'],
      });
      return asUserId(payload.sub) ?? new Refusal('token_invalid', 'the token names no user');
    } catch (error) {
      if (error instanceof errors.JWTExpired) return new Refusal('token_expired', 'the token has expired');
      if (error instanceof errors.JOSEError) return new Refusal('token_invalid', 'the token is not valid here');
      throw error;
    }
  }

  async #keyFor(kid: string | undefined): Promise<CryptoKey> {
    const key = await this.#keys.verificationKey(kid);
    if (key === undefined) throw new errors.JWKSNoMatchingKey();
    return key;
  }
}

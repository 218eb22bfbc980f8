import { constants, createHmac, generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from 'node:crypto';

type Fields = Readonly<Record<string, unknown>>;

/** One RSA key of an issuer: what it publishes, and every kind of token that can be made with it, good and bad. */
export class TokenSigner {
  readonly kid: string;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor(kid: string, modulusLength = 2048) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
    this.kid = kid;
    this.#privateKey = privateKey;
    this.#publicKey = publicKey;
  }

  jwk(fields: Fields = {}): JsonWebKey {
    return { ...this.#publicKey.export({ format: 'jwk' }), kid: this.kid, alg: 'RS256', use: 'sig', ...fields };
  }

  /** With everything that would let the holder sign. */
  privateJwk(): JsonWebKey {
    return { ...this.#privateKey.export({ format: 'jwk' }), kid: this.kid };
  }

  /** `undefined` leaves a member out. */
  token(claims: Fields | readonly unknown[], header: Fields = {}): string {
    const signed = this.#signed(claims, { alg: 'RS256', ...header });
    return `${signed}.${sign('sha256', Buffer.from(signed), this.#privateKey).toString('base64url')}`;
  }

  /** Signed by the right key with another algorithm. */
  rs512(claims: Fields): string {
    const signed = this.#signed(claims, { alg: 'RS512' });
    return `${signed}.${sign('sha512', Buffer.from(signed), this.#privateKey).toString('base64url')}`;
  }

  ps256(claims: Fields): string {
    const signed = this.#signed(claims, { alg: 'PS256' });
    const key = { key: this.#privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  }

  unsigned(claims: Fields, alg: string, signature = ''): string {
    return `${this.#signed(claims, { alg })}.${signature}`;
  }

  /** HMAC with what is public as the secret. */
  hs256(claims: Fields, form: 'pem' | 'der' | 'jwk'): string {
    const secrets = {
      pem: () => this.#publicKey.export({ type: 'spki', format: 'pem' }),
      der: () => this.#publicKey.export({ type: 'spki', format: 'der' }),
      jwk: () => JSON.stringify(this.#publicKey.export({ format: 'jwk' })),
    };
    const signed = this.#signed(claims, { alg: 'HS256' });
    return `${signed}.${createHmac('sha256', secrets[form]()).update(signed).digest('base64url')}`;
  }

  #signed(claims: Fields | readonly unknown[], header: Fields): string {
    return [{ typ: 'JWT', kid: this.kid, ...header }, claims].map((part) => base64url(JSON.stringify(part))).join('.');
  }
}

export function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

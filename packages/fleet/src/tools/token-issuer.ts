import { createHmac, createSign, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto';

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export interface TokenOptions {
  /** Default 3600; negative: already expired. */
  readonly expiresInS?: number;
  /** Added to the claims, or over them; `undefined` removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Added to the header, or over it. */
  readonly header?: Readonly<Record<string, unknown>>;
}

/** Signs tokens as a messenger's login would (RS256), and as an attacker would. */
export class TokenIssuer {
  readonly issuer = 'https://login.test';
  readonly audience = 'messenger';
  readonly #keys: SigningKey[] = [];

  constructor() {
    this.rotate();
  }

  /** A new key signs from now on; the old ones stay in the JWKS until `forgetOldKeys`. */
  rotate(): void {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.#keys.unshift({ kid: randomUUID(), privateKey, publicKey });
  }

  forgetOldKeys(): void {
    this.#keys.length = 1;
  }

  get #current(): SigningKey {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('an issuer has at least one key');
    return key;
  }

  get publicKeyPem(): string {
    return this.#current.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  }

  jwks(): { keys: JsonWebKey[] } {
    return {
      keys: this.#keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' })),
    };
  }

  token(userId: string, options: TokenOptions = {}): string {
    const signed = this.#unsigned(userId, 'RS256', options);
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(this.#current.privateKey, 'base64url')}`;
  }

  /** `alg: none`, the oldest trick. */
  unsignedToken(userId: string, options: TokenOptions = {}): string {
    return `${this.#unsigned(userId, 'none', options)}.`;
  }

  /** HS256 with the public key as the secret: accepted by verifiers that let the token choose the algorithm. */
  confusedToken(userId: string, options: TokenOptions = {}): string {
    const signed = this.#unsigned(userId, 'HS256', options);
    return `${signed}.${createHmac('sha256', this.publicKeyPem).update(signed).digest('base64url')}`;
  }

  #unsigned(userId: string, alg: string, { expiresInS = 3600, claims = {}, header = {} }: TokenOptions): string {
    const nowS = Math.floor(Date.now() / 1000);
    const payload = { sub: userId, iss: this.issuer, aud: this.audience, iat: nowS, exp: nowS + expiresInS, ...claims };
    return [{ alg, typ: 'JWT', kid: this.#current.kid, ...header }, payload].map(encode).join('.');
  }
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

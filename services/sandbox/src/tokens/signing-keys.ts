import { randomUUID } from 'node:crypto';
import type { Clock, Component } from '@event-gateway/runtime';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { KeyStore, StoredKey } from '../store/key-store.js';

export const SIGNING_ALGORITHM = 'RS256';

/**
 * The keys that tokens are signed with. They live in the database file and in memory, nowhere else. A retired key signs nothing, and
 * stays published for as long as a token that it signed may live.
 */
export class SigningKeys implements Component {
  readonly name = 'signing keys';
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #keepRetiredMs: number;
  readonly #imported = new Map<string, CryptoKey>();

  constructor(store: KeyStore, clock: Clock, keepRetiredMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#keepRetiredMs = keepRetiredMs;
  }

  async start(): Promise<void> {
    if (!this.#published().some((key) => key.retiredAtMs === undefined)) await this.rotate();
  }

  /** A new key from now on. Resolves with its id. */
  async rotate(): Promise<string> {
    const { privateKey, publicKey } = await generateKeyPair(SIGNING_ALGORITHM, { modulusLength: 2048, extractable: true });
    const [privateJwk, publicJwk] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)]);
    const kid = randomUUID();
    const nowMs = this.#clock.wallMs();
    this.#store.rotate(
      {
        kid,
        privateJwk: JSON.stringify(privateJwk),
        publicJwk: JSON.stringify({ ...publicJwk, kid, alg: SIGNING_ALGORITHM, use: 'sig' }),
        createdAtMs: nowMs,
      },
      nowMs - this.#keepRetiredMs,
    );
    return kid;
  }

  /** The JWKS document, newest key first. */
  jwks(): { keys: unknown[] } {
    return { keys: this.#published().map((key) => JSON.parse(key.publicJwk) as unknown) };
  }

  async signingKey(): Promise<{ kid: string; key: CryptoKey }> {
    const active = this.#published().find((key) => key.retiredAtMs === undefined);
    if (active === undefined) throw new Error('there is no signing key: signing keys have not been started');
    return { kid: active.kid, key: await this.#import(`private ${active.kid}`, active.privateJwk) };
  }

  async verificationKey(kid: string | undefined): Promise<CryptoKey | undefined> {
    const key = this.#published().find((candidate) => candidate.kid === kid);
    return key === undefined ? undefined : this.#import(`public ${key.kid}`, key.publicJwk);
  }

  #published(): StoredKey[] {
    const keepSinceMs = this.#clock.wallMs() - this.#keepRetiredMs;
    return this.#store.list().filter((key) => key.retiredAtMs === undefined || key.retiredAtMs >= keepSinceMs);
  }

  async #import(name: string, jwk: string): Promise<CryptoKey> {
    const known = this.#imported.get(name);
    if (known !== undefined) return known;
    const key = await importJWK(JSON.parse(jwk) as JWK, SIGNING_ALGORITHM);
    if (key instanceof Uint8Array) throw new TypeError('a signing key in the database is not an RSA key');
    this.#imported.set(name, key);
    return key;
  }
}

import { createPublicKey, type KeyObject } from 'node:crypto';

/** A public key that tokens may be signed with. An unchanged key keeps its object across refreshes. */
export interface SigningKey {
  readonly kid: string;
  /** What makes two published keys the same one. */
  readonly modulus: string;
  readonly exponent: string;
  readonly publicKey: KeyObject;
}

/** RFC 7518 asks for this much with RS256. */
const minModulusBits = 2048;

/**
 * The keys of a published set that verify RS256: RSA, for signatures, with a `kid` and of a sufficient size. Others are left out: an
 * issuer may publish keys for other purposes. Of two keys with the same kid the first one counts.
 * @param known the keys that are held already
 */
export function importKeys(jwks: unknown, known: ReadonlyMap<string, SigningKey>): Map<string, SigningKey> {
  const keys = new Map<string, SigningKey>();
  for (const jwk of publishedKeys(jwks)) {
    const found = usableKey(jwk);
    if (found === undefined || keys.has(found.kid)) continue;
    const held = known.get(found.kid);
    const isHeld = held !== undefined && held.modulus === found.modulus && held.exponent === found.exponent;
    const key = isHeld ? held : importKey(found);
    if (key !== undefined) keys.set(key.kid, key);
  }
  return keys;
}

type Fields = Readonly<Record<string, unknown>>;
type PublishedKey = Omit<SigningKey, 'publicKey'>;

function publishedKeys(jwks: unknown): readonly unknown[] {
  const keys = isObject(jwks) ? jwks['keys'] : undefined;
  return Array.isArray(keys) ? keys : [];
}

function usableKey(jwk: unknown): PublishedKey | undefined {
  if (!isObject(jwk)) return undefined;
  const { kty, kid, n, e, use, alg, key_ops: operations } = jwk;
  if (kty !== 'RSA' || typeof kid !== 'string' || typeof n !== 'string' || typeof e !== 'string') return undefined;
  if (use !== undefined && use !== 'sig') return undefined;
  if (alg !== undefined && alg !== 'RS256') return undefined;
  if (Array.isArray(operations) && !operations.includes('verify')) return undefined;
  return { kid, modulus: n, exponent: e };
}

/** Only the public members are taken: a set that leaks a private key must not turn it into something that we hold. */
function importKey({ kid, modulus, exponent }: PublishedKey): SigningKey | undefined {
  try {
    const publicKey = createPublicKey({ key: { kty: 'RSA', n: modulus, e: exponent }, format: 'jwk' });
    const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
    return bits >= minModulusBits ? { kid, modulus, exponent, publicKey } : undefined;
  } catch {
    return undefined; // numbers that are no RSA key: one such key must not cost the others
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

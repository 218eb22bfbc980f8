import { describe, expect, test } from 'vitest';
import { TokenSigner } from '../../test/token-signer.js';
import { importKeys } from './import-keys.js';

const signer = new TokenSigner('k1');
const other = new TokenSigner('k2');
const none = new Map();

describe('importKeys', () => {
  test('takes RSA keys for signatures by their kid', () => {
    const keys = importKeys({ keys: [signer.jwk(), other.jwk({ alg: undefined, use: undefined })] }, none);
    expect([...keys.keys()]).toEqual(['k1', 'k2']);
  });

  test.each([
    ['for encryption', signer.jwk({ use: 'enc' })],
    ['of another algorithm', signer.jwk({ alg: 'RS512' })],
    ['that only signs', signer.jwk({ key_ops: ['sign'] })],
    ['of another kind', { kty: 'oct', kid: 'k1', k: 'AAAA' }],
    ['without a kid', signer.jwk({ kid: undefined })],
    ['whose kid is a number', signer.jwk({ kid: 7 })],
    ['that is no key', signer.jwk({ n: '!!!', e: '' })],
    ['of 1024 bits', new TokenSigner('weak', 1024).jwk()],
    ['that is null', null],
    ['that is text', 'k1'],
  ])('leaves out a key %s, and keeps its neighbours', (_what, bad) => {
    expect([...importKeys({ keys: [bad, other.jwk()] }, none).keys()]).toEqual(['k2']);
  });

  test.each([null, 'text', {}, { keys: null }, { keys: {} }, []])('finds no key in %j', (jwks) => {
    expect(importKeys(jwks, none).size).toBe(0);
  });

  test('of two keys with one kid the first counts', () => {
    const keys = importKeys({ keys: [signer.jwk(), other.jwk({ kid: 'k1' })] }, none);
    expect(keys.get('k1')?.modulus).toBe(signer.jwk().n);
  });

  test('a published private key is held as a public one', () => {
    const key = importKeys({ keys: [signer.privateJwk()] }, none).get('k1');
    expect(key?.publicKey.type).toBe('public');
  });

  test('an unchanged key keeps its object, a changed one under the same kid does not', () => {
    const held = importKeys({ keys: [signer.jwk()] }, none);
    expect(importKeys({ keys: [signer.jwk()] }, held).get('k1')).toBe(held.get('k1'));
    expect(importKeys({ keys: [other.jwk({ kid: 'k1' })] }, held).get('k1')).not.toBe(held.get('k1'));
  });
});

import { createPublicKey, createVerify } from 'node:crypto';
import { expect, test } from 'vitest';
import { TokenIssuer } from './token-issuer.js';

const part = (token: string, index: number): unknown => JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

/** Looks the key up by `kid` in the JWKS, as a verifier does. */
function verifies(issuer: TokenIssuer, token: string): boolean {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const key = issuer.jwks().keys.find(({ kid }) => kid === (part(token, 0) as { kid: string }).kid);
  if (key === undefined) return false;
  return createVerify('RSA-SHA256')
    .update(`${header}.${payload}`)
    .verify(createPublicKey({ key, format: 'jwk' }), signature, 'base64url');
}

test('a token verifies against the published key and says whose it is', () => {
  const issuer = new TokenIssuer();
  const token = issuer.token('alice', { claims: { role: 'x' } });
  expect(verifies(issuer, token)).toBe(true);
  expect(part(token, 1)).toMatchObject({ sub: 'alice', iss: issuer.issuer, aud: issuer.audience, role: 'x' });
});

test('after a rotation old tokens verify until the old keys are forgotten', () => {
  const issuer = new TokenIssuer();
  const old = issuer.token('alice');
  issuer.rotate();
  expect([verifies(issuer, old), verifies(issuer, issuer.token('alice'))]).toEqual([true, true]);
  issuer.forgetOldKeys();
  expect([verifies(issuer, old), verifies(issuer, issuer.token('alice'))]).toEqual([false, true]);
});

test('the attacker’s tokens say alg none and HS256', () => {
  const issuer = new TokenIssuer();
  expect(part(issuer.unsignedToken('alice'), 0)).toMatchObject({ alg: 'none' });
  expect(issuer.unsignedToken('alice')).toMatch(/\.$/);
  expect(part(issuer.confusedToken('alice'), 0)).toMatchObject({ alg: 'HS256' });
});

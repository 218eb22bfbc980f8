import { createLocalJWKSet, decodeProtectedHeader, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { TestMessenger } from '../../test/test-messenger.js';
import { KeyStore } from '../store/key-store.js';
import { SigningKeys } from './signing-keys.js';
import { TokenIssuer } from './token-issuer.js';

const keepRetiredMs = 10_000;
const options = { issuer: 'sandbox', audience: 'gateway', ttlS: 60 };
let messenger: TestMessenger;
let keys: SigningKeys;
let tokens: TokenIssuer;

// Once for all: making a key takes a while, and a rotation leaves behind what every other test can go on with.
beforeAll(async () => {
  messenger = new TestMessenger();
  keys = new SigningKeys(new KeyStore(messenger.database), messenger.clock, keepRetiredMs);
  await keys.start();
  tokens = new TokenIssuer(keys, options);
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => messenger.close());

const kids = (): unknown[] => keys.jwks().keys.map((key) => (key as { kid: string }).kid);

test('a token is good for whoever has nothing but the published keys', async () => {
  const { token, expiresInS } = await tokens.issue('alice');
  const jwks = createLocalJWKSet(keys.jwks() as Parameters<typeof createLocalJWKSet>[0]);
  const { payload, protectedHeader } = await jwtVerify(token, jwks, { issuer: 'sandbox', audience: 'gateway', algorithms: ['RS256'] });
  expect(protectedHeader).toEqual({ alg: 'RS256', kid: kids()[0], typ: 'JWT' });
  expect(payload).toMatchObject({ sub: 'alice', exp: (payload.iat ?? 0) + expiresInS });
  expect(await tokens.authenticate(`Bearer ${token}`)).toBe('alice');
});

test('published keys hold nothing private', () => {
  for (const key of keys.jwks().keys) {
    expect(Object.keys(key as object).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  }
});

test('after a rotation the new key signs, and the old one stays published until its tokens are dead', async () => {
  const { token: old } = await tokens.issue('alice');
  const before = kids();
  const kid = await keys.rotate();
  expect(kids()).toEqual([kid, ...before]);
  expect(decodeProtectedHeader((await tokens.issue('alice')).token).kid).toBe(kid);
  expect(await tokens.authenticate(`Bearer ${old}`)).toBe('alice');

  await messenger.clock.advance(keepRetiredMs);
  expect(kids()).toEqual([kid, ...before]);
  await messenger.clock.advance(1);
  expect(kids()).toEqual([kid]);
  expect(await tokens.authenticate(`Bearer ${old}`)).toMatchObject({ code: 'token_invalid' });
});

test('a restart keeps the keys', async () => {
  const { token } = await tokens.issue('alice');
  const restarted = new SigningKeys(new KeyStore(messenger.database), messenger.clock, keepRetiredMs);
  await restarted.start();
  expect(restarted.jwks()).toEqual(keys.jwks());
  expect(await new TokenIssuer(restarted, options).authenticate(`Bearer ${token}`)).toBe('alice');
});

describe('a token that opens nothing', () => {
  const header = { alg: 'RS256', kid: 'k' };
  const claims = (): SignJWT => new SignJWT().setSubject('alice').setIssuer('sandbox').setAudience('gateway').setExpirationTime('1m');
  const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

  test.each([
    ['none at all', undefined, 'token_missing'],
    ['another scheme', 'Basic YTpi', 'token_missing'],
    ['nothing behind the scheme', 'Bearer ', 'token_missing'],
    ['garbage', 'Bearer garbage', 'token_invalid'],
    ['garbage in three parts', 'Bearer a.b.c', 'token_invalid'],
    ['an unsigned one', `Bearer ${base64({ alg: 'none' })}.${base64({ sub: 'alice', exp: 9e9 })}.`, 'token_invalid'],
  ])('%s', async (_what, authorization, code) => {
    expect(await tokens.authenticate(authorization)).toMatchObject({ code });
  });

  test('one of a foreign key, with a known or an unknown id', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    for (const kid of [String(kids()[0]), 'k']) {
      const token = await claims()
        .setProtectedHeader({ ...header, kid })
        .sign(privateKey);
      expect(await tokens.authenticate(`Bearer ${token}`)).toMatchObject({ code: 'token_invalid' });
    }
  });

  test('one for another audience, of another issuer, without an end or without a user', async () => {
    const { kid, key } = await keys.signingKey();
    const unlike = [claims().setAudience('x'), claims().setIssuer('x'), claims().setSubject('')];
    const endless = new SignJWT().setSubject('alice').setIssuer('sandbox').setAudience('gateway');
    for (const jwt of [...unlike, endless]) {
      const token = await jwt.setProtectedHeader({ alg: 'RS256', kid }).sign(key);
      expect(await tokens.authenticate(`Bearer ${token}`)).toMatchObject({ code: 'token_invalid' });
    }
  });

  test('one that has expired', async () => {
    const { token } = await tokens.issue('alice', 1);
    vi.useFakeTimers({ now: Date.now() + 2000, toFake: ['Date'] });
    expect(await tokens.authenticate(`Bearer ${token}`)).toMatchObject({ code: 'token_expired' });
  });
});

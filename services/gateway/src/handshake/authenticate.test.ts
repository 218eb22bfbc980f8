import { FakeClock, type Logger, silentLogger } from '@event-gateway/runtime';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base64url, TokenSigner } from '../../test/token-signer.js';
import { Authenticator, type Identity } from './authenticate.js';
import { importKeys } from './import-keys.js';
import type { KeyLookup } from './jwks-keys.js';
import type { Refusal } from './refusal.js';
import type { TokenRules } from './verify-token.js';

const signer = new TokenSigner('k1');
const stranger = new TokenSigner('k1');
const clock = new FakeClock();
const nowS = clock.wallMs() / 1000;
const options: TokenRules = { jwtIssuer: 'https://login.test', jwtAudience: 'gateway', jwtLeewayS: 5 };
const good = { sub: 'alice', iss: 'https://login.test', aud: 'gateway', exp: nowS + 3600 };

const asked: string[] = [];
const published: ReadonlyMap<string, KeyLookup> = importKeys({ keys: [signer.jwk()] }, new Map());

function authenticator(given: Partial<TokenRules> = {}, logger: Logger = silentLogger): Authenticator {
  const find = (kid: string): KeyLookup => {
    asked.push(kid);
    return published.get(kid) ?? (kid === 'down' ? 'unavailable' : 'unknown');
  };
  return new Authenticator({ keys: { find }, clock, logger, random: () => 0 }, { ...options, ...given });
}

async function judge(token: string | undefined, given: Partial<TokenRules> = {}): Promise<Identity | Refusal> {
  return authenticator(given).authenticate(token);
}

const expMs = (nowS + 3600) * 1000;

// The transport answers at its best what is decided before its request handler returns.
test('a token is judged at once if its key is held, and later only if the key has to be asked for', async () => {
  expect(authenticator().authenticate(signer.token(good))).toEqual({ userId: 'alice', expiresAtMs: expMs });
  expect(authenticator().authenticate(stranger.token(good))).toMatchObject({ code: 'token_invalid' });
  const find = async (): Promise<KeyLookup> => published.get('k1') ?? 'unknown';
  const asking = new Authenticator({ keys: { find }, clock, logger: silentLogger }, options);
  const later = asking.authenticate(signer.token(good, { kid: 'new' }));
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toMatchObject({ userId: 'alice' });
});

describe('accepted', () => {
  test('a good token speaks for its sub until its exp', async () => {
    expect(await judge(signer.token(good))).toEqual({ userId: 'alice', expiresAtMs: expMs });
  });

  test('an audience list that contains ours', async () => {
    expect(await judge(signer.token({ ...good, aud: ['other', 'gateway'] }))).toMatchObject({ userId: 'alice' });
  });

  test('any issuer and audience when none is configured', async () => {
    const anyone = { jwtIssuer: undefined, jwtAudience: undefined };
    expect(await judge(signer.token({ sub: 'alice', exp: good.exp }), anyone)).toMatchObject({ userId: 'alice' });
  });

  test.each(['üser 😀/%2f:1', '__proto__', 'x'.repeat(128)])('an odd sub is an ordinary id: %s', async (sub) => {
    expect(await judge(signer.token({ ...good, sub }))).toMatchObject({ userId: sub });
  });

  test('nbf and exp within the leeway', async () => {
    expect(await judge(signer.token({ ...good, nbf: nowS + 5 }))).toMatchObject({ userId: 'alice' });
    expect(await judge(signer.token({ ...good, exp: nowS - 4 }))).toMatchObject({ userId: 'alice' });
  });

  test('a token that only the leeway admits lives until the leeway ends', async () => {
    expect(await judge(signer.token({ ...good, exp: nowS - 4 }))).toEqual({ userId: 'alice', expiresAtMs: (nowS - 4 + 5) * 1000 });
  });

  test.each([1e18, 1e300, Number.MAX_VALUE])('an exp in a far future (%d) is a time that can be counted with', async (exp) => {
    expect(await judge(signer.token({ ...good, exp }))).toEqual({ userId: 'alice', expiresAtMs: 8.64e15 });
  });

  test('a fractional exp becomes whole milliseconds', async () => {
    expect(await judge(signer.token({ ...good, exp: nowS + 10.00055 }))).toMatchObject({ expiresAtMs: nowS * 1000 + 10_000 });
  });
});

describe('refused', () => {
  test.each([undefined, ''])('no token (%j) is token_missing', async (token) => {
    expect(await judge(token)).toMatchObject({ status: 401, code: 'token_missing' });
  });

  test('an expired one is token_expired, with the leeway over', async () => {
    expect(await judge(signer.token({ ...good, exp: nowS - 3600 }))).toMatchObject({ status: 401, code: 'token_expired' });
    expect(await judge(signer.token({ ...good, exp: nowS - 5 }))).toMatchObject({ code: 'token_expired' });
  });

  const { exp: _, ...noExp } = good;
  const signature = signer.token(good).split('.')[2] ?? '';
  const invalid: Record<string, string> = {
    garbage: 'abc',
    'three letters': 'a.b.c',
    'dots only': '..',
    'too many parts': `${signer.token(good)}.x`,
    'long garbage': 'x'.repeat(60_000),
    'header is not JSON': `${base64url('nope')}.e30.AAAA`,
    'header is null': `${base64url('null')}.e30.AAAA`,
    'header is an array': `${base64url('[]')}.e30.AAAA`,
    'payload is not JSON': `${signer.token(good).split('.')[0]}.${base64url('nope')}.${signature}`,
    'alg none': signer.unsigned(good, 'none'),
    'alg None with a signature': signer.unsigned(good, 'None', 'AAAA'),
    'alg RS256 without a signature': signer.unsigned(good, 'RS256'),
    'HS256 keyed with the PEM': signer.hs256(good, 'pem'),
    'HS256 keyed with the DER': signer.hs256(good, 'der'),
    'HS256 keyed with the JWK': signer.hs256(good, 'jwk'),
    RS512: signer.rs512(good),
    PS256: signer.ps256(good),
    'an array of algorithms': signer.token(good, { alg: ['RS256'] }),
    'right kid, wrong key': stranger.token(good),
    'claims exchanged under a signature': [
      signer.token(good).split('.')[0],
      base64url(JSON.stringify({ ...good, sub: 'bob' })),
      signature,
    ].join('.'),
    'no kid': signer.token(good, { kid: undefined }),
    'kid is a number': signer.token(good, { kid: 7 }),
    'kid is an object': signer.token(good, { kid: { toString: 'k1' } }),
    'kid is empty': signer.token(good, { kid: '' }),
    'kid __proto__': signer.token(good, { kid: '__proto__' }),
    'kid is a path': signer.token(good, { kid: '../../etc/passwd' }),
    'its own key in the header': stranger.token(good, { kid: 'x', jwk: stranger.jwk(), jku: 'http://127.0.0.1:1/' }),
    'an extension that must be understood': signer.token(good, { crit: ['b64'], b64: false }),
    'the signature spelt in another way': `${signer.token(good)}=`,
    'a payload that is an array': signer.token([]),
    'no exp': signer.token(noExp),
    'exp is text': signer.token({ ...good, exp: 'tomorrow' }),
    'exp is null': signer.token({ ...good, exp: null }),
    'not yet valid': signer.token({ ...good, nbf: nowS + 3600 }),
    'nbf is text': signer.token({ ...good, nbf: 'yesterday' }),
    'no issuer': signer.token({ ...good, iss: undefined }),
    'another issuer': signer.token({ ...good, iss: 'https://evil.test' }),
    'no audience': signer.token({ ...good, aud: undefined }),
    'another audience': signer.token({ ...good, aud: 'other' }),
    'audiences that are no text': signer.token({ ...good, aud: [{ gateway: 'gateway' }] }),
    'no sub': signer.token({ ...good, sub: undefined }),
    'sub is empty': signer.token({ ...good, sub: '' }),
    'sub is a number': signer.token({ ...good, sub: 42 }),
    'sub of 129 characters': signer.token({ ...good, sub: 'x'.repeat(129) }),
    'sub with a control character': signer.token({ ...good, sub: 'a\nb' }),
    'expired, of an unknown issuer': signer.token({ ...good, iss: 'https://evil.test', exp: nowS - 3600 }),
    'expired and forged': stranger.token({ ...good, exp: nowS - 3600 }),
  };

  test.each(Object.entries(invalid))('%s is token_invalid', async (_label, token) => {
    expect(await judge(token)).toEqual({ status: 401, code: 'token_invalid', message: 'the token is not valid here' });
  });

  test('nothing but RS256 with a kid asks for a key', async () => {
    asked.length = 0;
    for (const label of ['garbage', 'alg none', 'HS256 keyed with the PEM', 'RS512', 'PS256', 'no kid', 'kid is a number'])
      await judge(invalid[label]);
    expect(asked).toEqual([]);
  });

  test('an unknown key while the issuer cannot be asked is 503, not 401', async () => {
    expect(await judge(signer.token(good, { kid: 'down' }))).toMatchObject({ status: 503, code: 'not_ready', retryAfterS: 1 });
  });

  test('random texts, and random changes of a good token, are answered and never thrown', async () => {
    const token = signer.token(good);
    const changed = fc.tuple(fc.nat(token.length - 1), fc.string()).map(([at, text]) => token.slice(0, at) + text + token.slice(at + 1));
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), changed), async (text) => {
        const verdict = await judge(text);
        expect('userId' in verdict ? text : verdict.status).toBe('userId' in verdict ? token : 401);
      }),
      { numRuns: 300 },
    );
  });

  test('neither a refusal nor the log repeats anything of a token', async () => {
    const lines: string[] = [];
    const write = (fields: object, message: string): void => void lines.push(JSON.stringify(fields) + message);
    const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
    for (const token of Object.values(invalid)) lines.push(JSON.stringify(await authenticator({}, logger).authenticate(token)));
    for (const token of Object.values(invalid)) {
      for (const part of token.split('.').filter((text) => text.length > 20)) expect(lines.some((line) => line.includes(part))).toBe(false);
    }
  });
});

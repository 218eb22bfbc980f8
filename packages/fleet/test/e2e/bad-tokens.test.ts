import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, type OpenOptions, RecordingClient, startFleet, TokenIssuer } from '../../src/index.js';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ replicas: 1 });
});

afterAll(async () => fleet.stop());

type Bad = [what: string, code: string, token: (issuer: TokenIssuer) => string | undefined];

const bad: Bad[] = [
  ['no token', 'token_missing', () => undefined],
  ['garbage', 'token_invalid', () => 'garbage'],
  ['three parts of garbage', 'token_invalid', () => 'a.b.c'],
  ['an expired token', 'token_expired', (issuer) => issuer.token('alice', { expiresInS: -60 })],
  ['a token of another issuer', 'token_invalid', (issuer) => issuer.token('alice', { claims: { iss: 'https://elsewhere.test' } })],
  ['a token for another audience', 'token_invalid', (issuer) => issuer.token('alice', { claims: { aud: 'shop' } })],
  ['alg none', 'token_invalid', (issuer) => issuer.unsignedToken('alice')],
  ['HS256 signed with the public key', 'token_invalid', (issuer) => issuer.confusedToken('alice')],
  ['an unknown key', 'token_invalid', () => new TokenIssuer().token('alice')],
  ['a known kid over another key’s signature', 'token_invalid', (issuer) => forged(issuer)],
  ['no expiry', 'token_invalid', (issuer) => issuer.token('alice', { claims: { exp: undefined } })],
  ['not yet valid', 'token_invalid', (issuer) => issuer.token('alice', { claims: { nbf: Math.floor(Date.now() / 1000) + 3600 } })],
  ['no subject', 'token_invalid', (issuer) => issuer.token('alice', { claims: { sub: undefined } })],
  ['a subject that is no id', 'token_invalid', (issuer) => issuer.token('a\u0000b')],
];

function forged(issuer: TokenIssuer): string {
  const [header = '', payload = ''] = issuer.token('alice').split('.');
  const [, , signature = ''] = new TokenIssuer().token('alice').split('.');
  return [header, payload, signature].join('.');
}

const open = (options: Omit<OpenOptions, 'url'>): Promise<RecordingClient> => RecordingClient.open({ url: fleet.nginx.wsUrl, ...options });

describe.each(['query', 'header', 'subprotocol'] as const)('a token in the %s', (via) => {
  test.each(bad)('%s is refused before the upgrade with 401 %s', async (_what, code, make) => {
    const token = make(fleet.owners.issuer);
    const refusal = await open({ via, ...(token === undefined ? {} : { token }) }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ status: 401, code });
    expect(JSON.parse((refusal as { body: string }).body)).toEqual({ error: { code, message: expect.any(String) } });
  });

  test('a good one opens a socket of its subject', async () => {
    const client = await open({ via, token: fleet.owners.issuer.token('alice') });
    expect(await client.waitFor('hello')).toMatchObject({ user_id: 'alice', replica_id: 'gateway-1', resumed: false });
    expect(client.subprotocol).toBe(via === 'subprotocol' ? 'bearer' : '');
    await client.close();
  });
});

test('the header wins over the subprotocol, the subprotocol over the query', async () => {
  const { issuer } = fleet.owners;
  const url = `${fleet.nginx.wsUrl}?token=${issuer.token('from-query')}`;
  const overQuery = await RecordingClient.open({ url, via: 'subprotocol', token: issuer.token('from-subprotocol') });
  expect((await overQuery.waitFor('hello'))['user_id']).toBe('from-subprotocol');
  const headers = { authorization: `Bearer ${issuer.token('from-header')}` };
  const overBoth = await RecordingClient.open({ url, via: 'subprotocol', token: issuer.token('from-subprotocol'), headers });
  expect((await overBoth.waitFor('hello'))['user_id']).toBe('from-header');
});

test('no log holds a token', () => {
  const signatures = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;
  expect(fleet.replica(0).log()).not.toMatch(signatures);
  expect(fleet.nginx.accessLog() + fleet.nginx.log()).not.toMatch(signatures);
});

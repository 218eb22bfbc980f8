import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, RecordingClient, startFleet, TokenIssuer } from '../../src/index.js';
import { upgradeHeaders } from './upgrade-request.js';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ replicas: 1, env: { LOG_LEVEL: 'debug', INTERNAL_TOKEN: 'internal-secret', OWNER_TOKEN: 'owner-secret' } });
});

afterAll(async () => fleet.stop());

/**
 * The answer to a request as it stands, without any client's tidying; empty if the connection was only closed. `waits`: this side says
 * that it has nothing more to say only when the answer has begun.
 */
function send(isNginx: boolean, text: string, { waits = false } = {}): Promise<string> {
  return new Promise((resolve) => {
    const port = isNginx ? fleet.nginx.port : fleet.replica(0).port;
    const socket = isNginx ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
      if (waits) socket.end();
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve(answer));
    if (waits) socket.write(text);
    else socket.end(text);
  });
}

const statusesOf = (answer: string): (string | undefined)[] => [...answer.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => status);

const internalPaths = [
  ...['/internal/replicas', '/internal/presence?users=a', '/internal/users/a/disconnect', '/metrics', '/healthz', '/readyz', '/internal'],
  ...[
    '//internal/replicas',
    '/./internal/replicas',
    '/x/../internal/replicas',
    '/%69nternal/replicas',
    '/internal%2freplicas',
    '/INTERNAL/replicas',
  ],
  ...[
    '/api/v1/ws/../../../internal/replicas',
    '/api/v1/ws/..%2f..%2f..%2fmetrics',
    '/metrics/',
    '/metrics;x',
    '/api/v1/ws/metrics',
    '/%6detrics',
  ],
  ...['http://127.0.0.1/internal/replicas', 'http://127.0.0.1/metrics'],
];
const smuggled = [
  '',
  'X-Original-URL: /internal/replicas\r\nX-Rewrite-URL: /metrics\r\n',
  'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /internal/replicas HTTP/1.1\r\nHost: x\r\n',
  upgradeHeaders,
];

describe.each([
  ['through nginx', true],
  ['on the public port', false],
] as const)('%s', (_where, isNginx) => {
  test.each(internalPaths)('%s leads to nothing internal', async (path) => {
    for (const method of ['GET', 'POST']) {
      for (const headers of smuggled) {
        const host = `Host: x\r\nAuthorization: Bearer internal-secret\r\nConnection: close\r\n`;
        const answer = await send(isNginx, `${method} ${path} HTTP/1.1\r\n${host}${headers}\r\n`);
        // Status lines of every answer on that connection, a smuggled request's own included.
        expect(statusesOf(answer).filter((status) => !['400', '403', '404', '405', '501', '503', '505'].includes(status ?? ''))).toEqual(
          [],
        );
        expect(answer).not.toMatch(/replica_id|"presence"|gateway_connections|"ready"|incarnation/);
      }
    }
  });
});

/** An upgrade that would be granted, with more headers and with bytes behind it. */
async function upgrade(isNginx: boolean, headers: string, behind = ''): Promise<string> {
  const path = `/api/v1/ws?token=${await fleet.token('smuggler')}`;
  const own = `Host: x\r\n${upgradeHeaders}`;
  return send(isNginx, `GET ${path} HTTP/1.1\r\n${own}${headers}\r\n${behind}`, { waits: true });
}

describe.each([
  ['through nginx', true],
  ['on the public port', false],
] as const)('behind an upgrade %s', (_where, isNginx) => {
  const next = 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n';

  test.each([
    ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${next}`],
    ['chunks', 'Transfer-Encoding: chunked\r\n', `0\r\n\r\n${next}`],
    ['chunks that are none', 'Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${next}`],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 4\r\n', next],
    ['a length below zero', 'Content-Length: -1\r\n', next],
    ['a length of nothing', 'Content-Length: 0\r\n', next],
    ['no length at all', '', next],
    ['two hosts', 'Host: y\r\n', next],
  ])('%s: a second request is not answered', async (_what, headers, behind) => {
    const answer = await upgrade(isNginx, headers, behind);
    expect(statusesOf(answer).length).toBeLessThanOrEqual(1);
    expect(answer).not.toContain('not_found');
  });

  test('as it would be behind any other request, and as the upgrade itself is', async () => {
    expect(statusesOf(await send(isNginx, next + next))).toEqual(['404', '404']);
    expect(statusesOf(await upgrade(isNginx, ''))).toEqual(['101']);
  });
});

test('a head that is too large is refused: nginx takes lines of 8 KiB, a replica half a megabyte in all', async () => {
  const statusOf = (answer: string): string | undefined => /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
  expect(statusOf(await upgrade(true, `X-Large: ${'a'.repeat(9000)}\r\n`))).toBe('400');
  expect(statusOf(await send(true, `GET /api/v1/ws?token=${'a'.repeat(9000)} HTTP/1.1\r\nHost: x\r\n\r\n`))).toBe('414');
  expect(statusOf(await send(true, `GET /api/v1/ws HTTP/1.1\r\nHost: x\r\n${'X-Many: aaaaaaaaaaaaaaaa\r\n'.repeat(20_000)}`))).toBe('400');
  const endless = `GET /api/v1/ws HTTP/1.1\r\nHost: x\r\n${'X-Many: aaaaaaaaaaaaaaaa\r\n'.repeat(40_000)}`;
  // What it has not read when it closes resets the connection, which may overtake the answer.
  expect(['431', undefined]).toContain(statusOf(await send(false, endless)));
  expect((await fleet.replica(0).get('/healthz')).status).toBe(200);
});

test('no log of any process holds a token or a secret, whichever way it came and whatever became of it', async () => {
  const { issuer } = fleet.owners;
  const [nginx, replica] = [fleet.nginx.wsUrl, fleet.replica(0).wsUrl];
  const tokens = [
    ...[issuer.token('alice'), issuer.token('alice', { expiresInS: -60 }), issuer.unsignedToken('alice'), issuer.confusedToken('alice')],
    ...[new TokenIssuer().token('alice'), issuer.token('a\u0000b'), 'opaque-secret-token'],
  ];
  for (const token of tokens) {
    for (const url of [nginx, replica]) {
      for (const via of ['query', 'header', 'subprotocol'] as const) {
        const client = await RecordingClient.open({ url, via, token }).catch((error: unknown) => error);
        if (client instanceof RecordingClient) await client.close();
      }
    }
    const client = await fleet.connect('alice', { replica: fleet.replica(0) });
    client.sendRaw(`{"type":"auth","token":"${token}"`);
    await client.waitFor('error');
    client.send({ type: 'auth', token });
    await Promise.race([client.closed, client.waitFor('auth.ok')]);
    client.terminate();
  }
  await fleet.replica(0).get('/internal/replicas', { authorization: 'Bearer wrong-internal-secret' });
  await fleet.replica(0).drain();

  const files = readdirSync(fleet.home.dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log'));
  expect(files.map((name) => name.replace(/^redis-\d+/, 'redis')).sort()).toEqual([
    'gateway-1.log',
    'nginx.log',
    'nginx/access.log',
    'redis.log',
  ]);
  const logs = files.map((name) => readFileSync(join(fleet.home.dir, name), 'utf8')).join('\n');
  expect(logs).toContain('GET /api/v1/ws');
  const parts = [...new Set(tokens.flatMap((token) => token.split('.').filter((part) => part.length > 10)))];
  expect([...parts, 'internal-secret', 'owner-secret', 'eyJ'].filter((secret) => logs.includes(secret))).toEqual([]);
});

import { request } from 'node:http';
import { connect } from 'node:net';
import { type ControlMessage, decodeControlMessage, encodeControlMessage, type ReplicaRow, type UserId } from '@event-gateway/protocol';
import { RedisUnavailableError } from '@event-gateway/redis';
import { silentLogger } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Control } from './control.js';
import { InternalApi, type InternalApiDeps } from './internal-api.js';

const row: ReplicaRow = {
  replica_id: 'r0',
  incarnation: 'x',
  started_at: '2026-01-01T00:00:00.000Z',
  connections: 1,
  users: 1,
  lag_entries: null,
  lag_seconds: 0,
  pending: 0,
  draining: false,
};

let published: ControlMessage[];
let asked: UserId[][];
let deps: InternalApiDeps;
let api: InternalApi;
beforeEach(() => {
  published = [];
  asked = [];
  deps = {
    logger: silentLogger,
    presence: {
      query: async (users) => {
        asked.push([...users]);
        const offline = { status: 'offline' as const, last_seen: '2026-01-01T00:00:00.000Z', at_ms: 5 };
        return {
          degraded: false,
          presence: new Map(users.map((user) => [user, user === 'away' ? offline : { status: 'online' as const, at_ms: 5 }])),
        };
      },
    },
    replicas: { list: async () => [row] },
    publishControl: async (message) => void published.push(message),
    readiness: { report: () => ({ ready: true }) },
    metrics: { contentType: 'text/plain; version=0.0.4', text: async () => '# HELP a b\n' },
  };
});
afterEach(() => api.stop());

async function start(given: Partial<InternalApiDeps> = {}, internalToken?: string): Promise<void> {
  api = new InternalApi({ ...deps, ...given }, { internalHost: '127.0.0.1', internalPort: 0, internalToken });
  await api.start();
}

interface Got {
  readonly status: number;
  readonly json: ReturnType<typeof JSON.parse>;
  readonly text: string;
  readonly headers: Headers;
}

async function ask(path: string, init: RequestInit = {}): Promise<Got> {
  const response = await fetch(`http://127.0.0.1:${api.port}${path}`, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined, headers: response.headers };
}

const post = (path: string, body?: string): Promise<Got> => ask(path, { method: 'POST', ...(body === undefined ? {} : { body }) });

/** Writes raw bytes and gives everything that comes back until the server closes. */
function wire(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(api.port), '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}

describe('presence', () => {
  test('tells the status of each user, and when one was last seen', async () => {
    await start();
    const got = await ask('/internal/presence?users=here,away');
    expect(got.status).toBe(200);
    expect(got.json).toEqual({
      presence: { here: { status: 'online' }, away: { status: 'offline', last_seen: '2026-01-01T00:00:00.000Z' } },
    });
  });

  test('splits at commas before it decodes, and asks for duplicates once', async () => {
    await start();
    const got = await ask('/internal/presence?x=1&users=a%2Cb,c%20d,a%2Cb,%F0%9F%98%80,e+f');
    expect(asked).toEqual([['a,b', 'c d', '😀', 'e+f']]);
    expect(Object.keys(got.json.presence)).toEqual(['a,b', 'c d', '😀', 'e+f']);
  });

  test('__proto__ is an ordinary id', async () => {
    await start();
    expect((await ask('/internal/presence?users=__proto__,constructor')).text).toBe(
      '{"presence":{"__proto__":{"status":"online"},"constructor":{"status":"online"}}}',
    );
  });

  test('a thousand users of 128 characters, by GET and by POST', async () => {
    await start();
    const users = Array.from({ length: 1000 }, (_, i) => `${i}-`.padEnd(128, 'x'));
    expect(Object.keys((await ask(`/internal/presence?users=${users.join(',')}`)).json.presence)).toHaveLength(1000);
    const escaped = users.map((user) => `"${user.slice(0, 8)}${'\\u0436'.repeat(120)}"`);
    const got = await post('/internal/presence', `{"users":[${escaped.join(',')}]}`);
    expect(Object.keys(got.json.presence)).toHaveLength(1000);
  });

  test.each([
    ['no users', '/internal/presence'],
    ['an empty list', '/internal/presence?users='],
    ['an empty id', '/internal/presence?users=a,,b'],
    ['1,001 users', `/internal/presence?users=${Array.from({ length: 1001 }, (_, i) => i).join(',')}`],
    ['an id of 129 characters', `/internal/presence?users=${'x'.repeat(129)}`],
    ['a control character', '/internal/presence?users=a%0Ab'],
    ['half an escape', '/internal/presence?users=a%'],
    ['bytes that are not UTF-8', '/internal/presence?users=%ff'],
  ])('400 for %s', async (_what, path) => {
    await start();
    const got = await ask(path);
    expect([got.status, got.json.error.code, typeof got.json.error.message]).toEqual([400, 'bad_request', 'string']);
    expect(asked).toEqual([]);
  });

  test.each(['', '[]', 'null', '{', '{}', '{"users":"a"}', '{"users":[]}', '{"users":[7]}', '{"users":["a",""]}', '{"users":["\\ud800"]}'])(
    'POST %s is 400',
    async (body) => {
      await start();
      expect((await post('/internal/presence', body)).status).toBe(400);
    },
  );

  test('1,001 names of 1,000 users are 1,000 users', async () => {
    await start();
    const users = Array.from({ length: 1001 }, (_, i) => i % 1000);
    expect((await ask(`/internal/presence?users=${users.join(',')}`)).status).toBe(200);
  });

  test('says so when Redis could not be asked', async () => {
    await start({
      presence: {
        query: async (users) => ({ degraded: true, presence: new Map(users.map((user) => [user, { status: 'unknown' as const }])) }),
      },
    });
    expect((await post('/internal/presence', '{"users":["a"]}')).json).toEqual({ presence: { a: { status: 'unknown' } }, degraded: true });
  });

  test('a body above 1 MiB is 413, read to its end or not', async () => {
    await start();
    const got = await post('/internal/presence', `{"users":["${'x'.repeat(1_100_000)}"]}`);
    expect([got.status, got.json.error.code]).toEqual([413, 'payload_too_large']);
  });
});

describe('disconnect', () => {
  test('is published for every replica, with what the administrator says', async () => {
    await start();
    const got = await post('/internal/users/a%2Fb/disconnect', '{"code":4123,"reason":"bye"}');
    expect(got.status).toBe(202);
    expect(published).toEqual([{ op: 'disconnect', userId: 'a/b', code: 4123, reason: 'bye' }]);
    expect(decodeControlMessage(encodeControlMessage(published[0] as ControlMessage))).toEqual(published[0]);
  });

  test('without a body the code is 4403', async () => {
    await start();
    expect((await post('/internal/users/alice/disconnect')).status).toBe(202);
    expect(published).toEqual([{ op: 'disconnect', userId: 'alice', code: 4403, reason: 'administrator' }]);
  });

  test.each([
    ['a code below 4000', 'alice', '{"code":3999}'],
    ['a code above 4999', 'alice', '{"code":5000}'],
    ['a code that is no integer', 'alice', '{"code":4000.5}'],
    ['a code that is text', 'alice', '{"code":"4000"}'],
    ['a reason that is no text', 'alice', '{"reason":7}'],
    ['a reason of 124 bytes', 'alice', JSON.stringify({ reason: 'ж'.repeat(62) })],
    ['a body that is no object', 'alice', '[]'],
    ['a body that is not JSON', 'alice', '{'],
    ['a user that is no id', 'x'.repeat(129), '{}'],
    ['a user that cannot be decoded', '%zz', '{}'],
  ])('400 for %s', async (_what, user, body) => {
    await start();
    const got = await post(`/internal/users/${user}/disconnect`, body);
    expect([got.status, got.json.error.code]).toEqual([400, 'bad_request']);
    expect(published).toEqual([]);
  });

  test('a reason of 123 bytes is passed on', async () => {
    await start();
    const reason = `${'ж'.repeat(61)}x`;
    expect((await post('/internal/users/alice/disconnect', JSON.stringify({ reason }))).status).toBe(202);
    expect(published[0]?.reason).toBe(reason);
  });

  test('503 when Redis is down', async () => {
    await start({ publishControl: () => Promise.reject(new RedisUnavailableError('down')) });
    const got = await post('/internal/users/alice/disconnect');
    expect([got.status, got.json.error.code]).toEqual([503, 'redis_unavailable']);
  });

  test('each replica closes all sockets of that user, and no others', () => {
    const closed: unknown[] = [];
    const sockets = ['s1', 's2'].map((name) => ({
      close: (reason: string, override: object) => void closed.push([name, reason, override]),
    }));
    const control = new Control({ connectionsOf: (userId) => (userId === 'alice' ? sockets : []) }, silentLogger);
    control.onMessage('{"op":"disconnect","user_id":"bob","code":4403,"reason":""}');
    control.onMessage('{"op":"reboot","user_id":"alice","code":4403,"reason":""}');
    control.onMessage('nonsense');
    expect(closed).toEqual([]);
    control.onMessage('{"op":"disconnect","user_id":"alice","code":4403,"reason":"bye"}');
    expect(closed).toEqual(['s1', 's2'].map((name) => [name, 'administrator', { code: 4403, reason: 'bye' }]));
  });
});

describe('replicas', () => {
  test('lists the fleet', async () => {
    await start();
    expect((await ask('/internal/replicas')).json).toEqual({ replicas: [row] });
  });

  test('503 when Redis is down', async () => {
    await start({ replicas: { list: () => Promise.reject(new RedisUnavailableError('down')) } });
    expect((await ask('/internal/replicas')).status).toBe(503);
  });
});

describe('health and metrics', () => {
  test('alive as soon as it answers', async () => {
    await start();
    expect((await ask('/healthz')).status).toBe(200);
  });

  test('readyz says why not', async () => {
    await start({ readiness: { report: () => ({ ready: false, reasons: ['jwks'] }) } });
    const got = await ask('/readyz');
    expect([got.status, got.json]).toEqual([503, { ready: false, reasons: ['jwks'] }]);
  });

  test('readyz is 200 while degraded', async () => {
    await start({ readiness: { report: () => ({ ready: true, degraded: ['redis'] }) } });
    const got = await ask('/readyz');
    expect([got.status, got.json]).toEqual([200, { ready: true, degraded: ['redis'] }]);
  });

  test('metrics are the page, as text', async () => {
    await start();
    const got = await ask('/metrics');
    expect([got.status, got.text, got.headers.get('content-type')]).toEqual([200, '# HELP a b\n', 'text/plain; version=0.0.4']);
  });

  test('HEAD answers without a body', async () => {
    await start();
    const got = await ask('/healthz', { method: 'HEAD' });
    expect([got.status, got.text]).toEqual([200, '']);
  });
});

describe('the internal token', () => {
  const bearer = (token: string): RequestInit => ({ headers: { authorization: token } });

  test.each([
    ['none', {}],
    ['another', bearer('Bearer wrong')],
    ['a longer one', bearer('Bearer secret-token-')],
    ['an empty one', bearer('Bearer ')],
    ['another scheme', bearer('Basic secret-token')],
  ])('%s is 401 for everything under /internal', async (_what, init) => {
    await start({}, 'secret-token');
    for (const path of ['/internal/presence?users=a', '/internal/replicas', '/internal/nothing', '/internal']) {
      const got = await ask(path, init);
      expect([path, got.status, got.json.error.code]).toEqual([path, 401, 'unauthorized']);
    }
    expect(asked).toEqual([]);
  });

  test('the right one is let in', async () => {
    await start({}, 'secret-token');
    expect((await ask('/internal/replicas', bearer('bearer secret-token'))).status).toBe(200);
  });

  test('health and metrics need none', async () => {
    await start({}, 'secret-token');
    for (const path of ['/healthz', '/readyz', '/metrics']) expect((await ask(path)).status).toBe(200);
  });

  test.each([
    '/%69nternal/replicas',
    '//internal/replicas',
    '/internal/../internal/replicas',
    '/INTERNAL/replicas',
    '/healthz/../internal/replicas',
  ])('no spelling of a path gets around it: %s', async (path) => {
    await start({}, 'secret-token');
    const text = await wire(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 40[14] /);
    expect(text).not.toContain('replica_id');
  });
});

describe('the port', () => {
  test('404 for other paths, 405 for other methods, as JSON', async () => {
    await start();
    for (const path of ['/', '/nothing', '/internal/users/a', '/internal/users/a/disconnect/b', '/api/v1/ws']) {
      const got = await ask(path);
      expect([path, got.status, got.json.error.code]).toEqual([path, 404, 'not_found']);
    }
    const got = await ask('/internal/presence', { method: 'DELETE' });
    expect([got.status, got.json.error.code, got.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, POST, HEAD']);
    expect((await ask('/internal/users/a/disconnect')).status).toBe(405);
  });

  test('a fault of ours is 500 and costs the next request nothing', async () => {
    await start({ replicas: { list: () => Promise.reject(new Error('bug')) } });
    const got = await ask('/internal/replicas');
    expect([got.status, got.json.error.code, got.text.includes('bug')]).toEqual([500, 'internal_error', false]);
    expect((await ask('/healthz')).status).toBe(200);
  });

  test.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    ['headers without an end', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(300_000)}`, 431],
    ['two lengths', 'POST /internal/presence HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}', 400],
    [
      'a length and chunks',
      'POST /internal/presence HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
  ])('%s is refused as JSON and the connection closed', async (_what, bytes, status) => {
    await start();
    const text = await wire(bytes);
    expect(text.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).error.code).toBe('bad_request');
  });

  test('a client that goes away in the middle of its body is no fault of ours', async () => {
    const faults: object[] = [];
    await start({ logger: { ...silentLogger, error: (fields) => void faults.push(fields) } });
    await new Promise<void>((resolve) => {
      const leaving = request({ port: api.port, method: 'POST', path: '/internal/presence', headers: { 'content-length': 1000 } });
      leaving.on('error', () => resolve());
      leaving.write('{"users":', () => leaving.destroy(new Error('gone')));
    });
    expect((await ask('/healthz')).status).toBe(200);
    expect(faults).toEqual([]);
  });

  test('a stop ends open requests and idle connections at once', async () => {
    let wasAsked: () => void = () => undefined;
    const asking = new Promise<void>((resolve) => (wasAsked = resolve));
    await start({
      metrics: {
        contentType: 'text/plain',
        text: () => {
          wasAsked();
          return new Promise(() => undefined);
        },
      },
    });
    const idle = wire('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    const open = ask('/metrics').catch(() => 'cut');
    await asking;
    await api.stop();
    await api.stop();
    expect(await open).toBe('cut');
    expect(await idle).toContain('200 OK');
  });

  test('a port that is taken is an error of the start', async () => {
    await start();
    const second = new InternalApi(deps, { internalHost: '127.0.0.1', internalPort: Number(api.port), internalToken: undefined });
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await second.stop();
  });
});

describe('more connections than the port holds', () => {
  // They were dropped without a word, those of the probes included.
  test('a crowd that asks nothing keeps nobody out, and a request that is being answered is not cut for it', async () => {
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await start({ metrics: { contentType: 'text/plain', text: () => held.then(() => 'late') } });
    const metrics = ask('/metrics');
    const crowd = Array.from({ length: 300 }, () => connect(Number(api.port), '127.0.0.1').on('error', () => undefined));
    await Promise.all(crowd.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    expect((await ask('/healthz')).status).toBe(200);
    expect((await ask('/internal/presence?users=a')).status).toBe(200);
    finish();
    expect((await metrics).text).toBe('late');
    for (const socket of crowd) socket.destroy();
  });
});

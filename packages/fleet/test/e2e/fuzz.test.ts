import { request } from 'node:http';
import { connect } from 'node:net';
import { CLOSE_CODES, FRAME_ERROR_CODES, HTTP_REFUSAL_STATUS, UPGRADE_REFUSAL_STATUS } from '@event-gateway/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import WebSocket from 'ws';
import { Mutator } from '../../../protocol/test/mutator.js';
import { eventually, type Fleet, type RecordingClient, startFleet } from '../../src/index.js';

// Damaged input on every door of a replica while somebody is just connected. The limits that would end it early are out of the way.

const seed = 20_260_102;
const frameCount = 3000;
const entryCount = 2000;
const upgradeCount = 1000;
const connections = 20;
/** What a process may grow by that keeps nothing: its heap is collected when it likes. */
const maxGrowthBytes = 96 * 1024 * 1024;

let fleet: Fleet;
let healthy: RecordingClient;
let published = 0;

beforeAll(async () => {
  const many = '1000000';
  fleet = await startFleet({
    replicas: 1,
    nginx: false,
    env: {
      ...{ INBOUND_FRAMES_PER_SECOND: many, INBOUND_BURST: many, INBOUND_MAX_VIOLATIONS: many },
      ...{ UPGRADES_PER_SECOND: many, UPGRADES_BURST: many, MAX_LOOP_LAG_MS: '10000', RECENT_EVENTS_MAX_BYTES: '1048576' },
    },
  });
  healthy = await fleet.connect('healthy', { replica: fleet.replica(0) });
});

afterAll(async () => fleet.stop());

const publishGood = async (): Promise<string> => fleet.publish({ type: 'news', recipients: ['healthy'], payload: { n: published++ } });
const memory = async (): Promise<number> => (await fleet.replica(0).metrics()).value('process_resident_memory_bytes') ?? Infinity;

/** The process lives, has not grown, and whoever is connected has everything once and in order. */
async function expectHealth(bytesBefore: number): Promise<void> {
  await fleet.untilHandled(await publishGood());
  await healthy.flush();
  const seen = healthy.ofType('news').map((frame) => Object(frame['data'])['n']);
  expect(seen).toEqual(Array.from({ length: published }, (_, n) => n));
  expect(healthy.isOpen).toBe(true);
  expect((await fleet.replica(0).get('/readyz')).status).toBe(200);
  expect(fleet.replica(0).isRunning).toBe(true);
  expect((await memory()) - bytesBefore).toBeLessThan(maxGrowthBytes);
}

const goodFrames = [
  '{"type":"ping"}',
  '{"type":"typing","conversation_id":"c1"}',
  '{"type":"sync","conversations":{"c1":42,"__proto__":0},"cursor":"1767225600000-0","ref":"r1"}',
  '{"type":"sync","next":"2","ref":"r2","conversations":{}}',
  '{"type":"auth","token":"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"}',
  '{"type":"from.the.future","unknown":[1,{"deep":[null,true,1e5]}]}',
];

test('mutated frames are answered with errors and close codes of the contract', async () => {
  const mutator = new Mutator(seed);
  const token = fleet.owners.issuer.token('fuzzer');
  const [codes, closes] = [new Set<string>(), new Set<number>()];
  const before = await memory();
  const open = (): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${fleet.replica(0).wsUrl}?token=${token}`, { perMessageDeflate: false });
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString());
        if (frame.type === 'error') codes.add(frame.error.code);
      });
      socket.on('close', (code) => closes.add(code));
      socket.on('error', reject);
      socket.once('open', () => resolve(socket));
    });
  const sockets = await Promise.all(Array.from({ length: connections / 2 }, open));
  for (let n = 0; n < frameCount; n++) {
    const index = n % sockets.length;
    if (sockets[index]?.readyState !== WebSocket.OPEN) sockets[index] = await open();
    // As text, whatever the bytes are.
    sockets[index]?.send(mutator.mutate(goodFrames), { binary: mutator.below(100) === 0 });
    if (n % 100 === 0) await publishGood();
  }
  await expectHealth(before);
  for (const socket of sockets) socket.terminate();
  expect([...codes].filter((code) => !(FRAME_ERROR_CODES as string[]).includes(code))).toEqual([]);
  expect(codes.size).toBeGreaterThan(4);
  // 1006: text that is no UTF-8 is cut by the transport, which sends no close frame for it, and the test's own ends.
  const known = new Set([1006, ...Object.values(CLOSE_CODES).map(({ code }) => code)]);
  expect([...closes].filter((code) => !known.has(code))).toEqual([]);
}, 60_000);

const goodFields: readonly (readonly string[])[] = [
  [
    'recipients',
    '["fuzzer","nobody"]',
    'envelope',
    '{"type":"message.new","conversation_id":"c1","payload":{"id":"m1","seq":7,"text":"Hi"}}',
  ],
  ['event', '{"type":"order.paid","recipients":["fuzzer"],"payload":[1.0,{"__proto__":2}]}'],
  ['data', '{"type":"member.changed","conversation_id":"c1","recipients":[],"payload":{}}'],
];

test('mutated entries of the stream keep nobody from a good one', async () => {
  const mutator = new Mutator(seed);
  const fuzzed = await fleet.connect('fuzzer', { replica: fleet.replica(0) });
  const before = await memory();
  for (let n = 0; n < entryCount; n += 100) {
    const entries = Array.from({ length: 100 }, () =>
      mutator
        .pick(goodFields)
        .map((field, index) => (mutator.below(index % 2 === 0 ? 30 : 2) > 0 ? Buffer.from(field) : mutator.mutate([field]))),
    );
    await Promise.all([...entries.map((fields) => fleet.publishFields(...fields)), publishGood()]);
  }
  await expectHealth(before);
  await fuzzed.flush(); // its frames have been parsed, and it is still there
  expect(fuzzed.isOpen).toBe(true);
  const entries = (await fleet.replica(0).metrics()).value('gateway_stream_entries_total');
  expect(entries).toBe(entryCount + published);
  expect(await fleet.redis.call('XLEN', 'messenger.events.dead')).toBe(
    (await fleet.replica(0).metrics()).value('gateway_stream_entries_total', { outcome: 'malformed' }),
  );
}, 60_000);

interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

/** A request that HTTP allows, with an upgrade or without one. */
function ask(method: string, path: string, headers: Record<string, string>): Promise<Refusal> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: fleet.replica(0).port, method, path, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body, retryAfter: response.headers['retry-after'] }));
    });
    asked.once('upgrade', (_response, socket) => {
      socket.destroy();
      resolve({ status: 101, body: '', retryAfter: undefined });
    });
    asked.once('error', reject);
    asked.end();
  });
}

const upgradeHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

test('upgrade requests of every kind are granted or refused in the words of the contract', async () => {
  const mutator = new Mutator(seed);
  const token = fleet.owners.issuer.token('fuzzer');
  const before = await memory();
  const seen = new Map<number, Set<string>>();
  const tokens = [token, fleet.owners.issuer.token('fuzzer', { expiresInS: -60 }), fleet.owners.issuer.unsignedToken('fuzzer')];
  /** As HTTP may carry it: anything else is refused by the client that sends it. */
  const text = (...goodOnes: string[]): string =>
    mutator
      .mutate(goodOnes)
      .toString('latin1')
      .replace(/[^\x21-\x7e]/g, '');
  for (let n = 0; n < upgradeCount; n++) {
    const query = mutator.pick([
      `?token=${text(...tokens)}`,
      `?token=${token}&cursor=${text('1767225600000-0')}`,
      `?${text('token=x&cursor=0-0')}`,
      '',
    ]);
    const path = mutator.below(4) === 0 ? `/${text('api/v1/ws', 'internal/replicas', 'metrics')}` : '/api/v1/ws';
    const headers = {
      ...(mutator.below(5) > 0 ? upgradeHeaders : {}),
      ...(mutator.below(3) === 0 ? { authorization: text(`Bearer ${token}`, 'Basic YTpi').replace('Bearer', 'Bearer ') } : {}),
      ...(mutator.below(3) === 0 ? { 'sec-websocket-protocol': text(`bearer,${token}`, 'chat') || 'x' } : {}),
      ...(mutator.below(3) === 0 ? { origin: text('https://example.test') || 'null' } : {}),
    };
    const { status, body, retryAfter } = await ask(mutator.pick(['GET', 'GET', 'GET', 'POST', 'PUT']), path + query, headers);
    const code: string = status === 101 ? 'granted' : JSON.parse(body).error.code;
    seen.set(status, (seen.get(status) ?? new Set()).add(code));
    if (status === 503) expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
    if (n % 100 === 0) await publishGood();
  }
  await expectHealth(before);
  const contract = new Map<string, number>([
    ...Object.entries(UPGRADE_REFUSAL_STATUS),
    ...Object.entries(HTTP_REFUSAL_STATUS),
    ['granted', 101],
  ]);
  for (const [status, codes] of seen) for (const code of codes) expect([code, contract.get(code)]).toEqual([code, status]);
  expect([...seen.keys()].sort((a, b) => a - b)).toEqual([101, 401, 404, 426]);
}, 60_000);

test('bytes that are no HTTP harm nobody', async () => {
  const mutator = new Mutator(seed);
  const before = await memory();
  const head = Object.entries(upgradeHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  const good = `GET /api/v1/ws?token=${fleet.owners.issuer.token('fuzzer')} HTTP/1.1\r\nhost: x\r\n${head.join('')}\r\n`;
  for (let n = 0; n < upgradeCount; n++) {
    await new Promise<void>((resolve) => {
      const socket = connect(fleet.replica(0).port, '127.0.0.1');
      socket.on('error', () => socket.destroy());
      socket.once('close', () => resolve());
      socket.once('connect', () =>
        socket.end(mutator.mutate([good, good, `${good}${good}`, 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffff\r\n'])),
      );
      socket.resume();
    });
    if (n % 100 === 0) await publishGood();
  }
  await expectHealth(before);
  await eventually(async () => expect((await fleet.replica(0).metrics()).value('gateway_connections')).toBe(2));
}, 60_000);

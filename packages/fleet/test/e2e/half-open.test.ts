import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually, type Fleet, type FleetProcess, type RecordingClient, type Replica, startFleet } from '../../src/index.js';

const heartbeatMs = 1000;

/** A client in a process of its own that speaks up four times in a heartbeat, and writes down in hex what it hears. */
const talkative = `
const socket = require('node:net').connect(Number(process.env.PORT), '127.0.0.1');
const head = ['Host: x', 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
socket.write(['GET /api/v1/ws?token=' + process.env.TOKEN + ' HTTP/1.1', ...head, '', ''].join('\\r\\n'));
const ping = Buffer.from('{"type":"ping"}');
const frame = Buffer.concat([Buffer.from([0x81, 0x80 | ping.length, 0, 0, 0, 0]), ping]);
const talking = setInterval(() => socket.write(frame), ${heartbeatMs / 4});
socket.on('data', (bytes) => process.stdout.write(bytes.toString('hex')));
socket.on('error', () => undefined);
socket.on('close', () => clearInterval(talking));
`;
/** A close frame with 4408 and its reason. */
const closed4408 = `880b1138${Buffer.from('heartbeat').toString('hex')}`;

let fleet: Fleet;
let replica: Replica;
let healthy: RecordingClient;

beforeAll(async () => {
  fleet = await startFleet({
    replicas: 1,
    nginx: false,
    env: { HEARTBEAT_MS: String(heartbeatMs), PRESENCE_RENEW_MS: '1000', PRESENCE_GRACE_MS: '1000', RECONNECT_JITTER_MS: '400' },
  });
  replica = fleet.replica(0);
  healthy = await fleet.connect('healthy', { replica });
});

afterAll(async () => fleet.stop());

let closedBefore: number;
const closedByHeartbeat = async (): Promise<number> =>
  (await replica.metrics()).value('gateway_connections_closed_total', { reason: 'heartbeat' }) ?? 0;

beforeEach(async () => {
  closedBefore = await closedByHeartbeat();
});

/** Resolves when nobody but the healthy one is left: not in the hub, and soon not online either. */
async function untilGone(userId: string): Promise<void> {
  await eventually(async () => {
    const page = await replica.metrics();
    expect([page.value('gateway_connections'), page.value('gateway_users')]).toEqual([1, 1]);
  });
  expect(await closedByHeartbeat()).toBe(closedBefore + 1);
  await eventually(async () => {
    const { text } = await replica.get(`/internal/presence?users=${userId},healthy`);
    expect(JSON.parse(text)).toMatchObject({ presence: { [userId]: { status: 'offline' }, healthy: { status: 'online' } } });
  });
}

test('a client whose process stands still is closed with 4408 and leaves the hub, the others stay', async () => {
  const env = { PORT: String(replica.port), TOKEN: await fleet.token('frozen') };
  const process: FleetProcess = fleet.home.spawn({ name: 'client', command: globalThis.process.execPath, args: ['-e', talkative], env });
  const pong = Buffer.from('"pong"').toString('hex');
  // It is kept for as long as it speaks.
  await eventually(() => process.output().split(pong).length > 16);
  expect((await replica.metrics()).value('gateway_connections')).toBe(2);
  process.pause();
  await untilGone('frozen');
  process.resume();
  await eventually(() => expect(process.output()).toContain(closed4408));
  await process.exited;
});

test('a client that neither reads nor answers pings is closed with 4408 and leaves the hub', async () => {
  const client = await fleet.connect('deaf', { replica });
  client.pauseReading();
  await untilGone('deaf');
  client.resumeReading();
  expect((await client.closed).code).toBe(4408);
});

test('whoever only answers pings is never closed', async () => {
  expect(healthy.isOpen).toBe(true);
  await healthy.flush();
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { GatewayClient } from '../src/gateway-client.js';
import type { GatewayClientOptions } from '../src/options.js';
import type { ClientTiming } from '../src/timing.js';
import { ContractServer } from './contract-server.js';

/** Everything that waits does so for a moment. */
const QUICK: Partial<ClientTiming> = {
  firstRetryMaxMs: 50,
  backoffBaseMs: 20,
  backoffMaxMs: 100,
  connectTimeoutMs: 2_000,
  pongTimeoutMs: 200,
  probeTimeoutMs: 200,
};

let server: ContractServer;
const clients: GatewayClient[] = [];

beforeEach(async () => {
  server = await new ContractServer().start();
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await server.kill();
});

function start(options: Partial<GatewayClientOptions> = {}): { client: GatewayClient; ids: string[] } {
  const client = new GatewayClient({ url: () => server.url, token: () => 'u1.p.s', webSocket: WebSocket, timing: QUICK, ...options });
  const ids: string[] = [];
  client.on('message', ({ message }) => ids.push(message.id));
  client.connect();
  clients.push(client);
  return { client, ids };
}

const publish = (count: number): void => {
  for (let i = 0; i < count; i++) server.gateway.publish(server.gateway.newMessage('c1'));
};
const idsUpTo = (count: number): string[] => Array.from({ length: count }, (_, index) => `c1.m${index + 1}`);
const online = (client: GatewayClient): Promise<void> => vi.waitFor(() => expect(client.state).toBe('online'));

test('the WebSocket of `ws` is one that the option takes; the token goes as a subprotocol', async () => {
  const { client, ids } = start();
  await online(client);
  expect(server.handshakes[0]).toEqual({ cursor: null, protocols: ['bearer', 'u1.p.s'], token: 'u1.p.s' });
  publish(3);
  await vi.waitFor(() => expect(ids).toEqual(idsUpTo(3)));
});

test('a server that is killed and comes back is resumed: everything once, and no sync for it', async () => {
  const { client, ids } = start();
  await online(client);
  publish(5);
  await vi.waitFor(() => expect(ids).toHaveLength(5));
  const syncsBefore = server.gateway.syncRequests;
  for (let round = 0; round < 3; round++) {
    await server.kill();
    publish(5);
    await vi.waitFor(() => expect(client.state).toBe('reconnecting'));
    await server.start();
    await online(client);
    publish(5);
  }
  await vi.waitFor(() => expect(ids).toEqual(idsUpTo(35)));
  expect(server.gateway.syncRequests).toBe(syncsBefore);
});

test('a server whose tail is gone is synced with', async () => {
  const { client, ids } = start();
  await online(client);
  publish(2);
  await vi.waitFor(() => expect(ids).toHaveLength(2));
  await server.kill();
  publish(3);
  server.gateway.trim();
  await server.start();
  await vi.waitFor(() => expect(ids).toEqual(idsUpTo(5)));
  await online(client);
});

test('a drain is followed after the time it names', async () => {
  const { client, ids } = start();
  await online(client);
  server.drain(10);
  await vi.waitFor(() => expect(server.handshakes).toHaveLength(2));
  await online(client);
  publish(1);
  await vi.waitFor(() => expect(ids).toEqual(idsUpTo(1)));
});

test('refused upgrades are backed off from, and nothing crashes', async () => {
  server.refuseWith = 503;
  const { client } = start();
  await vi.waitFor(() => expect(client.status.reason).toBe('network'));
  server.refuseWith = undefined;
  await online(client);
});

test('a token that expires is renewed in band; when it was refused, on a new connection', async () => {
  let tokens = 0;
  const { client } = start({ token: ({ refresh }) => `u1.${refresh ? 'fresh' : 'first'}.${++tokens}` });
  await online(client);
  server.push({ type: 'token.expiring', expires_in_ms: 60_000 });
  await vi.waitFor(() => expect(server.receivedOf('auth')).toEqual([{ type: 'auth', token: 'u1.fresh.2' }]));
  server.closeAll(4401);
  await vi.waitFor(() => expect(server.handshakes.at(-1)?.token).toBe('u1.fresh.3'));
  await online(client);
});

test.each([4403, 4409])('%i is the end', async (code) => {
  const { client } = start();
  await online(client);
  server.closeAll(code);
  await vi.waitFor(() => expect(client.status).toMatchObject({ state: 'closed', closeCode: code }));
  await vi.waitFor(() => expect(server.connectionCount).toBe(0));
  expect(server.handshakes).toHaveLength(1);
});

test('a server that has gone deaf is noticed by its missing pongs', async () => {
  server.gateway.heartbeatMs = 200;
  const { client } = start();
  await online(client);
  server.isDeaf = true;
  await vi.waitFor(() => expect(client.status).toMatchObject({ reason: 'heartbeat' }), { timeout: 5000 });
  server.isDeaf = false;
  await online(client);
});

test('pongs keep an idle client resumable', async () => {
  server.gateway.heartbeatMs = 100;
  const { client } = start();
  await online(client);
  server.gateway.gap();
  await online(client);
  const cursor = server.gateway.cursor;
  await vi.waitFor(() => expect(client.cursor).toBe(cursor));
});

test('closing while the socket is still opening ends it, without an unhandled error', async () => {
  const { client } = start();
  await vi.waitFor(() => expect(client.state).toBe('connecting'));
  await new Promise((resolve) => setImmediate(resolve));
  await client.close();
  await vi.waitFor(() => expect(server.connectionCount).toBe(0));
});

test('two clients of one user are two connections, and each gets everything', async () => {
  const [one, two] = [start(), start()];
  await online(one.client);
  await online(two.client);
  publish(3);
  await vi.waitFor(() => expect([one.ids, two.ids]).toEqual([idsUpTo(3), idsUpTo(3)]));
});

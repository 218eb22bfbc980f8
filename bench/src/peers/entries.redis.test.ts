import { createAdapter } from '@socket.io/redis-streams-adapter';
import { eventually, RespClient, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from '../workload/workload.js';
import { busFormats } from '../publish/bus-formats.js';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(async () => server.stop());

const [event] = eventsOf({ seed: 1, name: 'c', conversations: 1, membersEach: 3, firstUser: 0, users: 3 }, 1);

test('an entry for Socket.IO is what a Socket.IO server writes for the same event, its own name aside', async () => {
  if (event === undefined) throw new Error('no event');
  const redis = new Redis(server.url);
  const io = new Server({ adapter: createAdapter(redis) });
  io.to([...event.recipients]).emit('event', event.envelope);
  await eventually(async () => (await server.call('XLEN', 'socket.io')) === 1);
  const own = await fieldsOf('socket.io');
  void io.of('/').adapter.close();
  redis.disconnect();

  await server.call('DEL', 'socket.io');
  await send(busFormats['socket-io'](event, 100));
  const ours = await fieldsOf('socket.io');
  expect({ ...ours, uid: '' }).toEqual({ ...own, uid: '' });
});

test('an entry for the gateway is in the fast form', async () => {
  if (event === undefined) throw new Error('no event');
  await send(busFormats.gateway(event, 100));
  const { recipients, envelope } = await fieldsOf('messenger.events');
  expect(JSON.parse(recipients ?? '')).toEqual(event.recipients);
  expect(JSON.parse(envelope ?? '')).toEqual(event.envelope);
});

/** Through a connection of its own, as bytes. */
async function send(command: Buffer): Promise<void> {
  const client = await RespClient.connect({ port: server.port });
  const args = command
    .toString()
    .split('\r\n')
    .filter((_, index) => index > 0 && index % 2 === 0);
  await client.call(...args);
  client.close();
}

async function fieldsOf(stream: string): Promise<Record<string, string>> {
  const entries = await server.call('XRANGE', stream, '-', '+');
  const [entry] = Array.isArray(entries) ? entries : [];
  const fields: unknown[] = Array.isArray(entry) && Array.isArray(entry[1]) ? entry[1] : [];
  return Object.fromEntries(fields.flatMap((field, index) => (index % 2 === 0 ? [[field, fields[index + 1]]] : [])));
}

import { DEFINED_EVENT_TYPES } from '@event-gateway/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  validateChannelMessage,
  validateDeadLetter,
  validateEntry,
  validateHttp,
  validateServerFrame,
} from '../../../protocol/test/contract-documents.js';
import { eventually, type Fleet, type OwnerRequest, RecordingClient, startFleet, UpgradeRefusedError } from '../../src/index.js';
import { httpRequest } from '../../src/services/node-service.js';
import { Subscription } from './subscription.js';

// What really crosses the wires of a fleet, held against asyncapi.yaml and openapi.yaml.

const stream = 'messenger.events';

let fleet: Fleet;
let alice: RecordingClient;
let bob: RecordingClient;
let presence: Subscription;
let typing: Subscription;

beforeAll(async () => {
  fleet = await startFleet({
    replicas: 2,
    nginx: false,
    env: { PRESENCE_GRACE_MS: '100', PRESENCE_RENEW_MS: '1000', DRAIN_WINDOW_MS: '100', SYNC_MAX_PAGES: '1' },
  });
  presence = new Subscription(fleet.redis.port, 'gateway.presence');
  typing = new Subscription(fleet.redis.port, 'gateway.typing');
  const { owners } = fleet;
  owners.direct('dialog', 'alice', 'bob');
  owners.group('team', ['alice', 'bob', 'carol'], 'Team');
  owners.syncPageEvents = 1;
  for (const seq of [1, 2])
    owners.store({ type: 'message.new', conversation_id: 'team', payload: { id: `old-${seq}`, seq, sender_id: 'bob' } });
  [alice, bob] = await Promise.all([
    fleet.connect('alice', { replica: fleet.replica(0) }),
    fleet.connect('bob', { replica: fleet.replica(1) }),
  ]);
  await talk();
});

afterAll(async () => {
  presence.stop();
  typing.stop();
  await fleet.stop();
});

/** Every kind of event and of frame, once at least. */
async function talk(): Promise<void> {
  const recipients = ['alice', 'bob'];
  for (const type of [...DEFINED_EVENT_TYPES, 'order.paid']) {
    for (const conversation_id of ['dialog', 'team']) {
      const payload = { id: `m-${type}`, seq: 3, sender_id: 'bob', text: 'Hi' };
      await fleet.publish({ type, conversation_id, event_id: `e-${type}`, occurred_at: '2026-01-01T00:00:00Z', recipients, payload });
    }
  }
  fleet.owners.userService.fault = { status: 500 };
  const id = await fleet.publish({
    type: 'message.new',
    conversation_id: 'team',
    recipients,
    payload: { id: 'm9', seq: 4, sender_id: 'carol' },
  });
  await fleet.untilHandled(id);
  fleet.owners.userService.fault = undefined;
  await fleet.publishFields('envelope', '{"recipients":5}', 'more', '1');
  alice.send({ type: 'sync', conversations: {}, ref: 'r1' });
  const { next } = await alice.waitFor('sync.complete');
  alice.send({ type: 'sync', conversations: {}, next, ref: 'r2' });
  await alice.waitFor((frame) => frame.type === 'sync.complete' && frame['ref'] === 'r2');
  bob.send({ type: 'typing', conversation_id: 'dialog' });
  await alice.waitFor('typing');
  alice.send({ type: 'nonsense' });
  alice.send({ type: 'auth', token: fleet.owners.issuer.token('alice', { expiresInS: 30 }) });
  await Promise.all(['auth.ok', 'token.expiring', 'error'].map((type) => alice.waitFor(type)));
  await alice.flush();
  const again = await fleet.connect('alice', { replica: fleet.replica(0), cursor: 'garbage' });
  await again.waitFor('sync.required');
  const resumed = await fleet.connect('alice', { replica: fleet.replica(0), cursor: id });
  await resumed.waitFor('presence.snapshot');
  await bob.close();
  await alice.waitFor('presence');
  await fleet.replica(1).drain();
  others.push(again, resumed, bob);
}

const others: RecordingClient[] = [];

test('every frame that was sent is documented, field by field', () => {
  const frames = [alice, ...others].flatMap((client) => client.frames);
  const wrong = frames.flatMap((frame) => validateServerFrame(frame).map((problem) => `${JSON.stringify(frame)}: ${problem}`));
  expect(wrong).toEqual([]);
  const own = [
    'hello',
    'typing',
    'presence',
    'presence.snapshot',
    'sync.complete',
    'sync.required',
    'token.expiring',
    'auth.ok',
    'pong',
    'error',
  ];
  expect(own.filter((type) => !frames.some((frame) => frame.type === type))).toEqual([]);
  expect(frames.some((frame) => frame['stale'] === true)).toBe(true);
});

test('a drain’s goodbye is documented', async () => {
  const client = await fleet.connect('carol', { replica: fleet.replica(0) });
  const other = fleet.replica(1);
  await other.start();
  const leaving = await fleet.connect('carol', { replica: other });
  await other.drain();
  expect(validateServerFrame(await leaving.waitFor('reconnect'))).toEqual([]);
  await client.close();
});

test('every answer of the internal port is documented, refusals too', async () => {
  const replica = fleet.replica(0);
  const asked = [
    ...['/internal/presence?users=alice,bob,nobody', '/internal/presence', '/internal/replicas', '/healthz', '/readyz', '/metrics'].map(
      (path) => ['GET', path, undefined] as const,
    ),
    ['POST', '/internal/presence', { users: ['alice', 'bob'] }] as const,
    ['POST', '/internal/presence', { users: 7 }] as const,
    ['POST', '/internal/users/nobody/disconnect', { code: 4403, reason: 'a test' }] as const,
    ['POST', '/internal/users/nobody/disconnect', { code: 1000 }] as const,
  ];
  for (const [method, path, request] of asked) {
    const { status, text, headers } = method === 'GET' ? await replica.get(path) : await replica.post(path, request);
    // What is refused as a bad request is none that is documented.
    const isJson = headers.get('content-type')?.startsWith('application/json') === true;
    const exchange = { method, path, status, headers: Object.fromEntries(headers), body: isJson ? JSON.parse(text) : text };
    expect([path, status, validateHttp({ ...exchange, ...(status >= 400 ? {} : { request }) })]).toEqual([path, status, []]);
  }
});

test('every refusal of an upgrade is documented', async () => {
  for (const token of [undefined, 'garbage', fleet.owners.issuer.token('alice', { expiresInS: -60 })]) {
    const refusal: unknown = await RecordingClient.open({ url: fleet.replica(0).wsUrl, ...(token === undefined ? {} : { token }) }).catch(
      (e: unknown) => e,
    );
    if (!(refusal instanceof UpgradeRefusedError)) throw new Error('not refused');
    const { status, headers, body } = refusal;
    expect(validateHttp({ method: 'GET', path: '/api/v1/ws', status, headers, body: JSON.parse(body) })).toEqual([]);
  }
});

test('every request to an owner is documented, and so is what the tests’ owners answer', async () => {
  const { userService, messenger } = fleet.owners;
  const kinds = new Set<string>();
  for (const server of [userService, messenger]) {
    for (const { method, path, body } of distinct(server.requests)) {
      kinds.add(path.replace(/(users|conversations)\/.*\/card/, '$1/card'));
      const answer = await httpRequest(`${server.url}${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      const exchange = { method, path, status: answer.status, body: JSON.parse(answer.text) };
      expect([path, validateHttp({ ...exchange, ...(body === undefined ? {} : { request: body }) })]).toEqual([path, []]);
    }
  }
  expect([...kinds].sort()).toEqual(['/internal/conversations/card', '/internal/sync', '/internal/users/card']);
});

function distinct(requests: readonly OwnerRequest[]): OwnerRequest[] {
  return [...new Map(requests.map((request) => [`${request.method} ${request.path} ${JSON.stringify(request.body)}`, request])).values()];
}

test('entries, dead letters and the fleet’s own messages are documented', async () => {
  const entries = await entriesOf(stream);
  const good = entries.filter((fields) => fields['more'] === undefined);
  expect(good.length).toBeGreaterThan(20);
  expect(good.flatMap((fields) => validateEntry(fields))).toEqual([]);
  const letters = await eventually(async () => {
    const found = await entriesOf(`${stream}.dead`);
    expect(found).toHaveLength(1);
    return found;
  });
  expect(letters.flatMap((fields) => validateDeadLetter(fields))).toEqual([]);
  for (const [channel, { messages }] of [
    ['gateway.presence', presence],
    ['gateway.typing', typing],
  ] as const) {
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.flatMap((message) => validateChannelMessage(channel, message))).toEqual([]);
  }
});

async function entriesOf(name: string): Promise<Record<string, string>[]> {
  const entries = (await fleet.redis.call('XRANGE', name, '-', '+')) as [string, string[]][];
  return entries.map(([, fields]) => Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1] ?? '']] : []))));
}

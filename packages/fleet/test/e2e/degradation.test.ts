import { afterEach, describe, expect, test } from 'vitest';
import { eventually, type Fleet, type FleetOptions, RecordingClient, startFleet, TokenIssuer } from '../../src/index.js';

// What dies, and what whoever is connected sees of it. Replicas that are killed, Redis that pauses or forgets and subscribers that are
// cut off have tests of their own.

let fleet: Fleet;

afterEach(async () => fleet.stop());

/** One replica with alice on it, and a group in which bob writes. */
async function start(options: FleetOptions = {}): Promise<RecordingClient> {
  fleet = await startFleet({ replicas: 1, nginx: false, ...options });
  fleet.owners.group('team', ['alice', 'bob', 'carol'], 'Team');
  return fleet.connect('alice', { replica: fleet.replica(0) });
}

const write = async (seq: number, senderId = 'bob'): Promise<string> => {
  const payload = { id: `m${seq}`, seq, sender_id: senderId, text: 'Hi' };
  fleet.owners.store({ type: 'message.new', conversation_id: 'team', payload });
  return fleet.publish({ type: 'message.new', conversation_id: 'team', recipients: ['alice'], payload });
};
const messageOf = async (client: RecordingClient, id: string): Promise<Record<string, unknown>> =>
  client.waitFor((frame) => frame['cursor'] === id);

test('the JWKS endpoint is gone: new sockets with a known key are accepted, an unknown key is not the user’s fault', async () => {
  const alice = await start({ env: { JWKS_COOLDOWN_MS: '1000' } });
  await fleet.owners.jwks.stop();
  const bob = await fleet.connect('bob', { replica: fleet.replica(0) });
  const stranger = new TokenIssuer().token('carol');
  await expect(RecordingClient.open({ url: fleet.replica(0).wsUrl, token: stranger })).rejects.toMatchObject({
    status: 503,
    code: 'not_ready',
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  });
  await messageOf(alice, await write(1));
  expect([alice.isOpen, bob.isOpen]).toEqual([true, true]);
  expect((await fleet.replica(0).get('/readyz')).status).toBe(200);
});

test('the messenger is down: syncs are told so and keep their socket, live frames and resumes go on', async () => {
  const alice = await start();
  const first = await write(1);
  await messageOf(alice, first);
  await fleet.owners.messenger.stop();
  alice.send({ type: 'sync', conversations: {}, ref: 'r1' });
  const failure = await alice.waitFor('error');
  expect(failure['error']).toMatchObject({ code: 'sync_unavailable', ref: 'r1', retry_after_ms: expect.any(Number) });
  const second = await write(2);
  await messageOf(alice, second);
  const again = await fleet.connect('alice', { replica: fleet.replica(0), cursor: first });
  expect(again.ofType('hello')[0]).toMatchObject({ resumed: true, cursor: first });
  expect((await messageOf(again, second))['message']).toMatchObject({ id: 'm2' });
  expect(alice.isOpen).toBe(true);
  await fleet.owners.messenger.start();
  // The breaker opens for a try every other second.
  await eventually(
    async () => {
      const before = alice.ofType('sync.complete').length;
      alice.send({ type: 'sync', conversations: {}, ref: 'r2' });
      await alice.waitFor((frame) => frame.type === 'sync.complete' && alice.ofType('sync.complete').length > before, 1000);
    },
    { timeoutMs: 15_000, intervalMs: 500 },
  );
});

test('the user-service hangs while a client resumes: a sync that is quicker than the replay takes nothing of it away', async () => {
  const alice = await start({ env: { CARD_DEADLINE_MS: '2000', OWNER_TIMEOUT_MS: '5000' } });
  const first = await write(1);
  await messageOf(alice, first);
  await alice.close();
  const missed = await fleet.publish({ type: 'message.pinned', conversation_id: 'team', recipients: ['alice'], payload: { id: 'm1' } });
  const last = await write(2, 'somebody whose card is cold');
  fleet.owners.userService.fault = { hangs: true };
  const again = await fleet.connect('alice', { replica: fleet.replica(0), cursor: first });
  again.send({ type: 'sync', conversations: { team: 2 } });
  const complete = await again.waitFor('sync.complete');
  await messageOf(again, last);
  const cursors = again.frames.flatMap(({ type, cursor }) => (type === 'hello' || cursor === undefined ? [] : [cursor]));
  expect(cursors).toEqual([complete['cursor'], missed, last]);
  expect(complete['cursor']).toBe(first);
});

test('the user-service hangs: names are missing and called stale; once its breaker is open nobody waits for it', async () => {
  const alice = await start({ env: { OWNER_BREAKER_OPEN_MS: '60000', CARD_DEADLINE_MS: '100', OWNER_TIMEOUT_MS: '300' } });
  fleet.owners.userService.fault = { hangs: true };
  let seq = 0;
  const stale = await messageOf(alice, await write(++seq));
  expect(stale).toMatchObject({ stale: true, message: { sender_name: '…' } });
  await eventually(
    async () => {
      await messageOf(alice, await write(++seq, `sender-${seq}`));
      expect((await fleet.replica(0).metrics()).value('gateway_owner_breaker_open', { owner: 'user-service' })).toBe(1);
    },
    { timeoutMs: 15_000 },
  );
  const asked = fleet.owners.userService.requests.length;
  const { sum, count } = await delivery();
  const ids = await Promise.all(Array.from({ length: 20 }, async () => write(++seq, `sender-${seq}`)));
  for (const id of ids) expect(await messageOf(alice, id)).toMatchObject({ stale: true, message: { sender_name: '…' } });
  expect(fleet.owners.userService.requests.length).toBe(asked);
  const after = await delivery();
  expect(after.count - count).toBe(20);
  expect((after.sum - sum) / 20).toBeLessThan(0.1); // less than the deadline that would be waited for
});

async function delivery(): Promise<{ sum: number; count: number }> {
  const page = await fleet.replica(0).metrics();
  return { sum: page.value('gateway_delivery_seconds_sum') ?? 0, count: page.value('gateway_delivery_seconds_count') ?? 0 };
}

test('the stream is trimmed before a replica has read it: everybody is told before the first frame from behind the hole', async () => {
  const alice = await start();
  await messageOf(alice, await write(1));
  const replica = fleet.replica(0);
  replica.pause();
  for (let seq = 2; seq <= 20; seq++) await write(seq);
  await fleet.redis.call('XTRIM', 'messenger.events', 'MAXLEN', 1);
  const last = await write(21);
  replica.resume();
  await messageOf(alice, last);
  const types = alice.frames
    .filter(({ type }) => type === 'message.new' || type === 'sync.required')
    .map(({ type, message }) => [type, Object(message)['seq']]);
  expect(types[0]).toEqual(['message.new', 1]);
  // What Redis had sent to the paused process already comes before.
  expect(types.slice(-3)).toEqual([
    ['sync.required', undefined],
    ['message.new', 20],
    ['message.new', 21],
  ]);
  expect(alice.ofType('sync.required')[0]).toMatchObject({ reason: 'trimmed', after_ms: expect.any(Number) });
  alice.send({ type: 'sync', conversations: { team: 1 } });
  await alice.waitFor('sync.complete');
  expect(new Set(alice.ofType('message.new').map(({ message }) => Object(message)['seq']))).toEqual(
    new Set(Array.from({ length: 21 }, (_, n) => n + 1)),
  );
});

describe('nginx', () => {
  test('is reloaded: sockets live on, new ones are taken, nothing is missed', async () => {
    fleet = await startFleet();
    fleet.owners.group('team', ['alice', 'bob'], 'Team');
    const clients = [await fleet.connect('alice'), await fleet.connect('alice')];
    fleet.nginx.reload();
    clients.push(await fleet.connect('alice'));
    const id = await write(1);
    for (const client of clients) await messageOf(client, id);
    expect(clients.every(({ isOpen }) => isOpen)).toBe(true);
  });

  test('is killed: clients that come back through it resume where they were', async () => {
    fleet = await startFleet();
    fleet.owners.group('team', ['alice', 'bob'], 'Team');
    const alice = await fleet.connect('alice');
    const cursor = await write(1);
    await messageOf(alice, cursor);
    await fleet.nginx.kill();
    await alice.closed;
    const missed = await write(2);
    await fleet.nginx.start();
    const again = await fleet.connect('alice', { cursor });
    expect(again.ofType('hello')[0]).toMatchObject({ resumed: true });
    await messageOf(again, missed);
    expect(fleet.owners.messenger.count('/internal/sync')).toBe(0);
  });
});

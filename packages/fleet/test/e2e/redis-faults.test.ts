import { afterEach, expect, test } from 'vitest';
import { eventually, type Fleet, type FleetOptions, type RecordedFrame, type RecordingClient, startFleet } from '../../src/index.js';

// What whoever is connected sees when Redis hangs, forgets, or cuts off those who listen to it.

let fleet: Fleet;
afterEach(async () => fleet.stop());

/** Two replicas with alice on the one and bob on the other. They have a dialog, and a group in which carol writes. */
async function start(options: FleetOptions = {}): Promise<{ alice: RecordingClient; bob: RecordingClient }> {
  fleet = await startFleet({ replicas: 2, nginx: false, ...options });
  fleet.owners.group('team', ['alice', 'bob', 'carol'], 'Team');
  fleet.owners.direct('dialog', 'alice', 'bob');
  const [alice, bob] = [
    await fleet.connect('alice', { replica: fleet.replica(0) }),
    await fleet.connect('bob', { replica: fleet.replica(1) }),
  ];
  for (const client of [alice, bob]) {
    client.send({ type: 'sync', conversations: {} });
    await client.waitFor('sync.complete');
  }
  return { alice, bob };
}

/** Resolves when it is on the stream, with its id; the messenger has it at once. */
function write(seq: number): Promise<string> {
  const payload = { id: `m${seq}`, seq, sender_id: 'carol', text: 'Hi' };
  fleet.owners.store({ type: 'message.new', conversation_id: 'team', payload });
  return fleet.publish({ type: 'message.new', conversation_id: 'team', recipients: ['alice', 'bob'], payload });
}

const seqOf = ({ message }: RecordedFrame): number => Number(Object(message)['seq']);
/** What came from the stream, in the order in which it came. */
const liveSeqs = (client: RecordingClient): number[] =>
  client
    .ofType('message.new')
    .filter(({ cursor }) => cursor !== undefined)
    .map(seqOf);
const oneTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);
const readiness = async (index: number): Promise<unknown> => JSON.parse((await fleet.replica(index).get('/readyz')).text);

/** Asks all replicas all the time, as nginx does; `end` gives whatever any of them said that would have taken it out of the upstream. */
function watchReadiness(): { end(): Promise<string[]> } {
  const refusals: string[] = [];
  let isWatching = true;
  const watch = async (): Promise<void> => {
    while (isWatching) {
      for (const replica of fleet.replicas) {
        const { status, text } = await replica.get('/readyz');
        if (status !== 200) refusals.push(text);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const watching = watch();
  const end = async (): Promise<string[]> => {
    isWatching = false;
    await watching;
    return refusals;
  };
  return { end };
}

test('Redis hangs for ten seconds: no socket closes, everything that is posted meanwhile comes afterwards, once and in order', async () => {
  const { alice, bob } = await start();
  await write(1);
  for (const client of [alice, bob]) await client.waitFor('message.new');
  const snapshots = alice.ofType('presence.snapshot').length;
  const pausedAtMs = performance.now();
  const watch = watchReadiness();
  fleet.redis.pause();
  const posted = [2, 3, 4, 5].map(write);

  await eventually(async () => expect(await readiness(0)).toEqual({ ready: true, degraded: ['redis'] }));
  expect((await fleet.replica(1).get('/readyz')).status).toBe(200);
  const newcomer = await fleet.connect('alice', { replica: fleet.replica(1) });
  newcomer.send({ type: 'sync', conversations: { team: 1 } });
  await newcomer.waitFor('sync.complete');
  expect(newcomer.ofType('message.new').map(seqOf)).toEqual([2, 3, 4, 5]);
  const { text } = await fleet.replica(0).get('/internal/presence?users=bob');
  expect(JSON.parse(text)).toEqual({ presence: { bob: { status: 'unknown' } }, degraded: true });
  // That nothing is known of the others is told after ten seconds.
  const statuses = (): unknown[] =>
    alice
      .ofType('presence.snapshot')
      .slice(snapshots)
      .flatMap(({ presence }) => Object(presence))
      .map(({ status }) => status);
  await eventually(() => expect(statuses()).toEqual(['unknown']), { timeoutMs: 20_000 });
  expect(performance.now() - pausedAtMs).toBeGreaterThan(9000);
  expect(liveSeqs(alice)).toEqual([1]);

  fleet.redis.resume();
  await Promise.all(posted);
  await fleet.untilHandled(await write(6));
  for (const client of [alice, bob]) await client.flush();
  expect(liveSeqs(alice)).toEqual(oneTo(6));
  expect(liveSeqs(bob)).toEqual(oneTo(6));
  await eventually(() => expect(statuses().at(-1)).toBe('online'), { timeoutMs: 20_000 });
  expect([alice, bob, newcomer].map(({ isOpen }) => isOpen)).toEqual([true, true, true]);
  expect([alice, bob, newcomer].flatMap((client) => client.ofType('sync.required'))).toEqual([]);
  for (const index of [0, 1]) expect(await readiness(index)).toEqual({ ready: true });
  expect(await watch.end()).toEqual([]);
}, 60_000);

// Redis answers, so it looks like a fault of each replica: none can renew its lease, and none may read without.
test.each([
  ['its replica is gone (min-replicas-to-write)', 'min-replicas-to-write', '1', '0'],
  ['it is full', 'maxmemory', '1', '0'],
])(
  'Redis takes no writes, %s: replicas stay in the upstream, sockets are accepted, and live goes on when it does',
  async (_why, option, refuse, take) => {
    const { alice, bob } = await start({ env: { REPLICA_LEASE_TTL_MS: '2000' } });
    const watch = watchReadiness();
    await fleet.redis.call('CONFIG', 'SET', option, refuse);
    for (const index of [0, 1]) await eventually(async () => expect(await readiness(index)).toEqual({ ready: true, degraded: ['redis'] }));
    const newcomer = await fleet.connect('alice', { replica: fleet.replica(0) });
    await fleet.redis.call('CONFIG', 'SET', option, take);
    for (const index of [0, 1]) await eventually(async () => expect(await readiness(index)).toEqual({ ready: true }));
    await fleet.untilHandled(await write(1));
    for (const client of [alice, bob, newcomer]) {
      await client.flush();
      expect(liveSeqs(client)).toEqual([1]);
    }
    expect(await watch.end()).toEqual([]);
  },
);

test('Redis comes back with less than it had: everybody is told before anything newer comes, and is whole after a sync', async () => {
  const { alice, bob } = await start();
  for (let seq = 1; seq <= 3; seq++) await write(seq);
  await fleet.redis.call('SAVE');
  for (let seq = 4; seq <= 5; seq++) await write(seq);
  const lost = await write(6);
  for (const client of [alice, bob]) await client.waitFor((frame) => frame['cursor'] === lost);
  await fleet.redis.restart({ keepData: true });
  expect(String(await fleet.redis.call('XREVRANGE', 'messenger.events', '+', '-'))).not.toContain(lost);

  for (const client of [alice, bob]) {
    const told = await client.waitFor('sync.required', 20_000);
    expect(told).toMatchObject({ reason: 'gap', after_ms: expect.any(Number) });
    client.send({ type: 'sync', conversations: { team: 6 }, cursor: lost });
    await eventually(() => expect(client.ofType('sync.complete')).toHaveLength(2));
  }
  await fleet.untilHandled(await write(7));
  for (const client of [alice, bob]) {
    await client.flush();
    expect(liveSeqs(client)).toEqual(oneTo(7));
    expect(client.ofType('sync.required')).toHaveLength(1);
    const types = client.frames.map((frame) => (frame.type === 'message.new' ? seqOf(frame) : frame.type));
    expect(types.indexOf('sync.required')).toBeLessThan(types.indexOf(7));
  }
  // What followed on a cursor of before nobody can know.
  const late = await fleet.connect('alice', { replica: fleet.replica(1), cursor: lost });
  expect(late.ofType('hello')[0]).toMatchObject({ resumed: false });
  expect(await late.waitFor('sync.required')).toMatchObject({ reason: 'cursor_unknown' });
  expect(alice.isOpen && bob.isOpen).toBe(true);
}, 60_000);

test('subscriber connections are cut while cards change: names and titles are right after one refresh, nobody waits for it', async () => {
  const { alice, bob } = await start();
  await write(1);
  await Promise.all([alice, bob].map((client) => client.waitFor('message.new')));
  const cardRequests = (id: string): number => fleet.owners.userService.count(`/internal/users/${id}/card`);
  expect(cardRequests('carol')).toBe(2); // each replica has it
  const snapshots = alice.ofType('presence.snapshot').length;

  fleet.owners.name('carol', 'Caroline');
  fleet.owners.group('team', ['alice', 'bob', 'carol'], 'The team');
  await fleet.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const heard = [
    await fleet.redis.call('PUBLISH', 'user.updated', JSON.stringify({ user_id: 'carol' })),
    await fleet.redis.call('PUBLISH', 'conversation.updated', JSON.stringify({ conversation_id: 'team' })),
  ];
  expect(heard).toEqual([0, 0]);
  for (const replica of fleet.replicas)
    await eventually(async () => expect((await replica.metrics()).value('gateway_redis_up', { connection: 'subscriber' })).toBe(1));

  let seq = 1;
  const shown = async (): Promise<unknown[]> => {
    const id = await write(++seq);
    const frames = await Promise.all([alice, bob].map((client) => client.waitFor((frame) => frame['cursor'] === id)));
    for (const frame of frames) expect(frame).not.toHaveProperty('stale');
    return frames.map(({ message, conversation }) => [Object(message)['sender_name'], Object(conversation)['title']]);
  };
  const right = ['Caroline', 'The team'];
  // Whoever wants a card that may have changed is shown what is there, and has it asked for once.
  await shown();
  await eventually(() => expect(cardRequests('carol')).toBe(4));
  await eventually(async () => expect(await shown()).toEqual([right, right]));
  expect(cardRequests('carol')).toBe(4);
  await eventually(() => expect(alice.ofType('presence.snapshot').length).toBeGreaterThan(snapshots));
});

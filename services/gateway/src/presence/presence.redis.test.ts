import { eventually, type RedisServer, startRedisServer, TcpProxy } from '@event-gateway/fleet';
import type { ConversationCard, ConversationId } from '@event-gateway/protocol';
import { channels } from '@event-gateway/redis';
import { type Clock, systemClock } from '@event-gateway/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestConnection, user } from './test/test-hub.js';
import { shortTimes, TestReplica, type TestReplicaOptions } from './test/test-replica.js';
import { TransitionLog } from './test/transition-log.js';

const { leaseTtlMs, renewMs, graceMs, sweepMs } = shortTimes;
/** A sign of life this often is what keeps a user alive here. */
const pongMs = 100;
/** What a busy machine may be late by, on top of what the product may take. */
const slackMs = 1500;

let server: RedisServer;
let log: TransitionLog;
let replicas: TestReplica[] = [];

beforeAll(async () => {
  server = await startRedisServer({ persistence: 'aof' });
});
afterAll(() => server.stop());

beforeEach(async () => {
  log = await new TransitionLog(server.url).start();
  await log.call('FLUSHALL');
});
afterEach(() => {
  for (const replica of replicas) replica.kill();
  replicas = [];
  log.stop();
});

async function start(id: string, options: Partial<TestReplicaOptions> = {}): Promise<TestReplica> {
  const replica = new TestReplica({ id, url: server.url, ...options });
  replicas.push(replica);
  await replica.start();
  replica.keepAlive(pongMs);
  return replica;
}

const direct = (a: string, b: string): ConversationCard => ({
  conversationId: `${a}-${b}` as ConversationId,
  type: 'direct',
  participants: [user(a), user(b)],
});

/** `viewer` comes to a replica and may see `peer`. */
function watch(replica: TestReplica, viewer: string, peer: string): TestConnection {
  const connection = replica.connect(user(viewer));
  replica.presence.learnConversation(direct(viewer, peer));
  return connection;
}

async function online(replica: TestReplica, id: string): Promise<TestConnection> {
  const connection = replica.connect(user(id));
  await eventually(() => expect(log.of(id).at(-1)).toBe('online'));
  return connection;
}

/** Lets time pass in which something must not happen; that can only be waited for. */
const pass = (ms: number): Promise<void> => systemClock.sleep(ms);

async function redisMs(): Promise<number> {
  const [seconds, micros] = (await log.call('TIME')) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

describe('one user', () => {
  test('is online at once, while the key exists, and offline once after the grace, last seen when last active', async () => {
    const replica = await start('r0');
    const viewer = watch(replica, 'b', 'a');
    const tab = await online(replica, 'a');
    expect(await log.call('ZRANGE', 'presence:a', 0, -1)).toEqual([expect.stringMatching(/^r0#\d+$/)]);
    const closedMs = await redisMs();
    replica.hub.close(tab);
    await eventually(() => expect(log.of('a')).toEqual(['online', 'offline']));
    const offline = log.messages.at(-1);
    expect((offline?.atMs ?? 0) - closedMs).toBeGreaterThanOrEqual(graceMs - 10);
    expect((offline?.atMs ?? 0) - closedMs).toBeLessThanOrEqual(graceMs + 2 * sweepMs + slackMs);
    expect(closedMs - (offline?.lastSeenMs ?? 0)).toBeLessThanOrEqual(pongMs + slackMs);
    expect(closedMs - (offline?.lastSeenMs ?? 0)).toBeGreaterThanOrEqual(-10);
    expect(await log.call('EXISTS', 'presence:a')).toBe(0);
    await eventually(() => expect(viewer.told('a')).toEqual(['online', 'offline']));
    expect(tab.frames).toEqual([]);
  });

  test.each([
    ['on one replica', false, false],
    ['on two replicas, the first one closing first', true, false],
    ['on two replicas, the second one closing first', true, true],
  ])('two tabs are one presence: closing one is silent, closing the other says offline once (%s)', async (_, isApart, isReversed) => {
    const first = await start('r0');
    const second = isApart ? await start('r1') : first;
    const tabs: [TestReplica, TestConnection][] = [
      [first, await online(first, 'a')],
      [second, second.connect(user('a'))],
    ];
    await eventually(async () => expect(await log.call('ZCARD', 'presence:a')).toBe(isApart ? 2 : 1));
    if (isReversed) tabs.reverse();
    for (const [i, [replica, tab]] of tabs.entries()) {
      replica.hub.close(tab);
      if (i === 0) await pass(leaseTtlMs + graceMs);
      if (i === 0) expect(log.of('a')).toEqual(['online']);
    }
    await eventually(() => expect(log.of('a')).toEqual(['online', 'offline']));
    await pass(leaseTtlMs);
    expect(log.of('a')).toEqual(['online', 'offline']);
  });

  test('who moves between replicas within the grace does not flap, however often', async () => {
    const both = [await start('r0'), await start('r1')] as const;
    let [at, tab] = [both[0], await online(both[0], 'a')];
    for (let i = 0; i < 8; i++) {
      at.hub.close(tab);
      await pass(graceMs / 4);
      at = both[i % 2 === 0 ? 1 : 0];
      tab = at.connect(user('a'));
    }
    await pass(leaseTtlMs + graceMs);
    expect(log.of('a')).toEqual(['online']);
  });

  test('is kept by his signs of life alone, and without them is online for no longer than the lease', async () => {
    const replica = await start('r0');
    await online(replica, 'a');
    await pass(3 * leaseTtlMs);
    expect(log.of('a')).toEqual(['online']);
    replica.fallSilent();
    const silentMs = await redisMs();
    await eventually(() => expect(log.of('a')).toEqual(['online', 'offline']));
    const { atMs = 0, lastSeenMs = 0 } = log.messages.at(-1) ?? {};
    expect(atMs - lastSeenMs).toBeGreaterThanOrEqual(leaseTtlMs);
    expect(atMs - silentMs).toBeLessThanOrEqual(leaseTtlMs + 2 * sweepMs + slackMs);
  });
});

describe('replicas', () => {
  test('kill -9 of one: exactly 1,000 offline, within lease + 2 s; none for the 300 who went elsewhere', async () => {
    const [dying, other] = [await start('r0'), await start('r1')];
    const ids = Array.from({ length: 1300 }, (_, i) => `u${i}`);
    for (const id of ids) dying.connect(user(id));
    await eventually(() => expect(log.count('online')).toBe(1300));
    dying.kill();
    const killedMs = await redisMs();
    for (const id of ids.slice(0, 300)) other.connect(user(id));
    await eventually(() => expect(log.count('offline')).toBe(1000));
    await pass(leaseTtlMs);
    expect(log.messages).toHaveLength(2300);
    const offline = log.messages.filter(({ status }) => status === 'offline');
    expect(new Set(offline.map(({ userId }) => userId))).toEqual(new Set(ids.slice(300)));
    for (const { atMs } of offline) expect(atMs - killedMs).toBeLessThanOrEqual(leaseTtlMs + 2000);
  });

  test('a drained one leaves its users the grace: who comes back elsewhere in it does not flap', async () => {
    const [leaving, other] = [await start('r0'), await start('r1')];
    const tabs = [await online(leaving, 'stays away'), await online(leaving, 'comes back')];
    for (const tab of tabs) leaving.hub.close(tab);
    await leaving.presence.drain(1000);
    leaving.kill();
    await pass(graceMs / 2);
    other.connect(user('comes back'));
    await eventually(() => expect(log.of('stays away')).toEqual(['online', 'offline']));
    await pass(leaseTtlMs);
    expect(log.of('comes back')).toEqual(['online']);
  });

  test('one whose clock is 20 s off changes nothing', async () => {
    const skewed = (ms: number): Clock => ({
      nowMs: () => systemClock.nowMs() + ms,
      wallMs: () => systemClock.wallMs() + ms,
      setTimeout: (fn, afterMs) => systemClock.setTimeout(fn, afterMs),
      sleep: (afterMs, signal) => systemClock.sleep(afterMs, signal),
    });
    const [ahead, behind] = [await start('r0', { clock: skewed(20_000) }), await start('r1', { clock: skewed(-20_000) })];
    const viewer = watch(behind, 'b', 'a');
    const tab = await online(ahead, 'a');
    await pass(2 * leaseTtlMs);
    expect(log.of('a')).toEqual(['online']);
    const closedMs = await redisMs();
    ahead.hub.close(tab);
    await eventually(() => expect(log.of('a')).toEqual(['online', 'offline']));
    const { atMs = 0, lastSeenMs = 0 } = log.messages.find(({ userId, status }) => userId === 'a' && status === 'offline') ?? {};
    expect(Math.abs(closedMs - lastSeenMs)).toBeLessThan(pongMs + slackMs);
    expect(atMs - closedMs).toBeLessThan(graceMs + 2 * sweepMs + slackMs);
    await behind.presence.sendSnapshot(viewer);
    const [entry] = viewer.snapshots().at(-1)?.presence ?? [];
    expect(entry).toMatchObject({ user_id: 'a', status: 'offline' });
    expect(Math.abs((entry?.at_ms ?? 0) - (await redisMs()))).toBeLessThan(1000);
    await eventually(() => expect(viewer.believes('a')).toBe('offline'));
  });

  test('the whole fleet stood still for longer than a lease: nobody who comes back in time is called offline', async () => {
    const old = await start('r0');
    for (const id of ['comes back', 'stays away']) await online(old, id);
    old.kill();
    await pass(leaseTtlMs + 6 * sweepMs);
    expect(log.count('offline')).toBe(0);
    const young = await start('r0');
    await pass((renewMs + graceMs) / 2);
    young.connect(user('comes back'));
    await eventually(() => expect(log.of('stays away')).toEqual(['online', 'offline']));
    expect(log.of('comes back')).toEqual(['online']);
  });

  test('presence outlives the replica that learned it: peers and their states are there at the next one, without a sync', async () => {
    const [dying, other] = [await start('r0'), await start('r1')];
    dying.connect(user('b'));
    dying.presence.learnSynced(user('b'), [
      { conversationId: 'd1' as ConversationId, type: 'direct', peerId: user('a'), lastSeq: 1 },
      { conversationId: 'd2' as ConversationId, type: 'direct', peerId: user('z'), lastSeq: 1 },
      { conversationId: 'g1' as ConversationId, type: 'group', lastSeq: 1 },
    ]);
    await eventually(async () => expect(await log.call('SCARD', 'presence.peers:b')).toBe(2));
    dying.kill();
    const a = await online(other, 'a');
    const b = other.connect(user('b'));
    await other.presence.sendSnapshot(b);
    const states = b.snapshots()[0]?.presence.map(({ user_id, status }) => `${user_id} ${status}`);
    expect(states?.toSorted()).toEqual(['a online', 'z offline']);
    other.hub.close(a);
    await eventually(() => expect(b.told('a')).toEqual(['offline']));
  });
});

describe('who may see whom', () => {
  test('members of a group who share no direct dialog get nothing, by no way', async () => {
    const replica = await start('r0');
    const c = replica.connect(user('c'));
    replica.presence.learnConversation({ conversationId: 'g1' as ConversationId, type: 'group', participants: ['a', 'b', 'c'].map(user) });
    replica.presence.learnSynced(user('c'), [{ conversationId: 'g1' as ConversationId, type: 'group', lastSeq: 5 }], true);
    const b = watch(replica, 'b', 'a');
    replica.hub.close(await online(replica, 'a'));
    await eventually(() => expect(b.told('a')).toEqual(['online', 'offline']));
    await replica.presence.sendSnapshot(c);
    expect(c.frames).toEqual([{ type: 'presence.snapshot', presence: [] }]);
  });

  test('who becomes a direct peer by an event is shown at once, and from then on, without a reconnect', async () => {
    const [here, there] = [await start('r0'), await start('r1')];
    const b = here.connect(user('b'));
    const a = await online(there, 'a');
    await pass(300);
    expect(b.frames).toEqual([]);
    here.presence.learnConversation(direct('a', 'b'));
    await eventually(() => expect(b.believes('a')).toBe('online'));
    there.hub.close(a);
    await eventually(() => expect(b.told('a')).toEqual(['offline']));
  });
});

describe('Redis', () => {
  test('stood still for longer than a lease: no offline and no online for the living, one offline for who left', async () => {
    const both = [await start('r0'), await start('r1')] as const;
    const viewer = watch(both[1], 'b', 'a');
    const tabs = [await online(both[0], 'a'), await online(both[0], 'c'), await online(both[1], 'd')];
    server.pause();
    const begunMs = performance.now();
    const answer = await both[1].presence.query(['a', 'nobody']);
    expect(performance.now() - begunMs).toBeLessThan(1000);
    expect(answer.degraded).toBe(true);
    expect([...answer.presence.values()].map(({ status }) => status)).toEqual(['unknown', 'unknown']);
    await pass(leaseTtlMs + 500);
    if (tabs[1] !== undefined) both[0].hub.close(tabs[1]);
    server.resume();
    await eventually(async () => expect(await both[1].presence.query(['a'])).toMatchObject({ degraded: false }));
    await eventually(() => expect(log.of('c')).toEqual(['online', 'offline']));
    await pass(leaseTtlMs + graceMs);
    expect(
      log.messages.filter(({ userId }) => userId !== 'c' && userId !== 'b').map(({ userId, status }) => `${userId} ${status}`),
    ).toEqual(['a online', 'd online']);
    expect(viewer.believes('a')).toBe('online');
  });

  test('restarted with its data: no transition but those that took place', async () => {
    const replica = await start('r0');
    const viewer = watch(replica, 'b', 'a');
    const [a, c] = [await online(replica, 'a'), await online(replica, 'c')];
    await server.restart({ keepData: true });
    // What is published while nobody listens is heard by nobody, the log included.
    await eventually(async () => expect(await log.call('PUBSUB', 'NUMSUB', channels.presence)).toEqual([channels.presence, 2]));
    replica.hub.close(c);
    const d = replica.connect(user('d'));
    await eventually(() => expect(log.of('d')).toEqual(['online']));
    await eventually(() => expect(log.of('c')).toEqual(['online', 'offline']));
    await pass(leaseTtlMs + graceMs);
    expect(log.of('a')).toEqual(['online']);
    expect([a, d].every(({ isOpen }) => isOpen)).toBe(true);
    await eventually(() => expect(viewer.believes('a')).toBe('online'));
  });

  test('restarted without its data: everybody is taken back in silence, and everybody ends with the truth', async () => {
    const both = [await start('r0'), await start('r1')] as const;
    const viewer = watch(both[1], 'b', 'a');
    both[1].presence.learnConversation(direct('b', 'c'));
    await online(both[0], 'a');
    const c = await online(both[0], 'c');
    const ids = Array.from({ length: 500 }, (_, i) => `u${i}`);
    for (const [i, id] of ids.entries()) both[i % 2 === 0 ? 0 : 1].connect(user(id));
    await eventually(() => expect(log.count('online')).toBe(503));
    await server.restart({ keepData: false });
    both[0].hub.close(c);
    await eventually(async () => expect(await log.call('ZCARD', 'presence.online')).toBe(502), { timeoutMs: 20_000 });
    expect(await log.call('EXISTS', 'presence:a')).toBe(1);
    await eventually(() => expect(viewer.believes('c')).toBe('offline'), { timeoutMs: 20_000 });
    await eventually(() => expect(viewer.snapshots().length).toBeGreaterThan(0), { timeoutMs: 20_000 });
    await eventually(() => expect(viewer.believes('a')).toBe('online'), { timeoutMs: 20_000 });
    expect(log.messages.slice(503).filter(({ userId }) => userId !== 'c')).toEqual([]);
    await eventually(async () => expect(await log.call('SMEMBERS', 'presence.peers:b')).toHaveLength(2));
  });

  test('emptied under a running fleet: the same', async () => {
    const both = [await start('r0'), await start('r1')] as const;
    for (let i = 0; i < 200; i++) both[i % 2 === 0 ? 0 : 1].connect(user(`u${i}`));
    await eventually(() => expect(log.count('online')).toBe(200));
    await log.call('FLUSHALL');
    await eventually(async () => expect(await log.call('ZCARD', 'presence.online')).toBe(200));
    await pass(leaseTtlMs + graceMs);
    expect(log.messages).toHaveLength(200);
  });

  test('a subscriber that was cut for 3 s while peers came and went ends with the truth', async () => {
    const proxy = await TcpProxy.start(server.port);
    try {
      const [there, here] = [await start('r0'), await start('r1', { listenUrl: `redis://127.0.0.1:${proxy.port}` })];
      const viewer = watch(here, 'b', 'goes');
      here.presence.learnConversation(direct('b', 'comes'));
      const goes = await online(there, 'goes');
      // The snapshot that follows from having learned them.
      await eventually(() => expect(viewer.snapshots()).toHaveLength(1));
      proxy.refuse();
      proxy.cut();
      there.hub.close(goes);
      await online(there, 'comes');
      await eventually(() => expect(log.of('goes')).toEqual(['online', 'offline']));
      await pass(3000 - graceMs);
      expect([viewer.believes('goes'), viewer.believes('comes')]).not.toEqual(['offline', 'online']);
      proxy.accept();
      await eventually(() => expect([viewer.believes('goes'), viewer.believes('comes')]).toEqual(['offline', 'online']));
    } finally {
      await proxy.stop();
    }
  });
});

import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LeaseState, LeaseStore } from './lease-store.js';
import { PeerStore } from './peer-store.js';
import { ScriptDoor } from './presence-scripts.js';
import { RedisHealth } from './redis-health.js';
import { RedisTime } from './redis-time.js';
import { user } from './test/test-hub.js';
import { TransitionLog } from './test/transition-log.js';

const times = { leaseTtlMs: 60_000, renewMs: 20_000, graceMs: 15_000, sweepMs: 1000, commandTimeoutMs: 1000 };

let server: RedisServer;
let log: TransitionLog;

beforeAll(async () => {
  server = await startRedisServer();
  log = await new TransitionLog(server.url).start();
});
afterAll(async () => {
  log.stop();
  await server.stop();
});
beforeEach(async () => {
  await log.call('FLUSHALL');
  log.messages.length = 0;
});

function storeOf(holder: string, time = new RedisTime()): LeaseStore {
  const health = new RedisHealth(systemClock, silentLogger);
  const door = new ScriptDoor(log.redis.command, systemClock, health);
  return new LeaseStore(door, time, systemClock, { ...times, holder });
}

const here = (id: string, state: Partial<LeaseState> = {}): LeaseState => ({
  ...{ userId: user(id), activeAgeMs: 0, leftAgeMs: undefined, confirmedMs: 0 },
  ...state,
});
const left = (id: string, leftAgeMs: number, state: Partial<LeaseState> = {}): LeaseState => here(id, { leftAgeMs, ...state });
const outcomesOf = async (store: LeaseStore, ...states: LeaseState[]): Promise<string[]> =>
  (await store.write(states)).map(({ outcome }) => outcome);

async function redisMs(): Promise<number> {
  const [seconds, micros] = (await log.call('TIME')) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}
/** How long from now (ms) what the command says is. */
async function fromNow(...command: [string, ...(string | number)[]]): Promise<number> {
  return Number(await log.call(...command)) - (await redisMs());
}
/** Published messages have arrived when one that was published after them has. */
async function published(id: string): Promise<string[]> {
  await log.call('PUBLISH', 'gateway.presence', '{"user_id":"marker","status":"online","at_ms":1}');
  await eventually(() => log.of('marker').length > 0);
  log.messages.splice(
    log.messages.findIndex(({ userId }) => userId === 'marker'),
    1,
  );
  return log.of(id);
}
const near = (actual: number, expected: number): void =>
  expect(Math.abs(actual - expected), `${actual} is not near ${expected}`).toBeLessThan(300);

describe('writing leases', () => {
  test('the first holder of a user publishes online; a second one adds itself in silence', async () => {
    expect(await outcomesOf(storeOf('r0#1'), here('a'))).toEqual(['online']);
    expect(await outcomesOf(storeOf('r1#1'), here('a'))).toEqual(['held']);
    expect(await published('a')).toEqual(['online']);
    expect(await log.call('ZRANGE', 'presence:a', 0, -1)).toEqual(['r0#1', 'r1#1']);
  });

  test('a lease is the last activity + TTL by Redis’s clock, and the key outlives it by two sweeps', async () => {
    await storeOf('r0#1').write([here('a', { activeAgeMs: 10_000 })]);
    near(await fromNow('ZSCORE', 'presence:a', 'r0#1'), times.leaseTtlMs - 10_000);
    near(await fromNow('ZSCORE', 'presence.online', 'a'), times.leaseTtlMs - 10_000);
    near(Number(await log.call('PTTL', 'presence:a')), times.leaseTtlMs - 10_000 + 2 * times.sweepMs);
    near(await fromNow('ZSCORE', 'presence.last_seen', 'a'), -10_000);
  });

  test('the score of a user is the latest lease of all holders, also when one of them shortens its own', async () => {
    const [first, second] = [storeOf('r0#1'), storeOf('r1#1')];
    await first.write([here('a')]);
    await second.write([here('a', { activeAgeMs: 5000 })]);
    near(await fromNow('ZSCORE', 'presence.online', 'a'), times.leaseTtlMs);
    await first.write([left('a', 0)]);
    near(await fromNow('ZSCORE', 'presence:a', 'r0#1'), times.graceMs);
    near(await fromNow('ZSCORE', 'presence.online', 'a'), times.leaseTtlMs - 5000);
    await second.write([left('a', 1000)]);
    near(await fromNow('ZSCORE', 'presence.online', 'a'), times.graceMs);
    near(Number(await log.call('PTTL', 'presence:a')), times.graceMs + 2 * times.sweepMs);
  });

  test('the grace counts from the close, and never makes a lease longer', async () => {
    const store = storeOf('r0#1');
    await store.write([here('a')]);
    await store.write([left('a', 4000)]);
    near(await fromNow('ZSCORE', 'presence:a', 'r0#1'), times.graceMs - 4000);
    await store.write([left('a', 0, { activeAgeMs: 55_000 })]);
    near(await fromNow('ZSCORE', 'presence:a', 'r0#1'), 5000);
  });

  test('leases of holders that are over are tidied up by whoever writes next', async () => {
    await log.call('ZADD', 'presence:a', 1000, 'dead#1', 2000, 'dead#2');
    await storeOf('r0#1').write([here('a')]);
    expect(await log.call('ZRANGE', 'presence:a', 0, -1)).toEqual(['r0#1']);
  });

  test('a lease that had ended before it could be written is not begun, and tells nobody', async () => {
    expect(await outcomesOf(storeOf('r0#1'), here('a', { activeAgeMs: 70_000 }), left('b', 16_000))).toEqual(['over', 'over']);
    expect(await log.call('EXISTS', 'presence:a', 'presence:b', 'presence.online')).toBe(0);
    expect(await published('a')).toEqual([]);
  });

  test('a lease that ended late leaves a score in the past, for the sweep to see', async () => {
    const store = storeOf('r0#1');
    await store.write([here('a')]);
    expect(await outcomesOf(store, left('a', 16_000))).toEqual(['over']);
    expect(await fromNow('ZSCORE', 'presence.online', 'a')).toBeLessThan(0);
  });

  test('the last activity is the latest that anybody reported', async () => {
    await storeOf('r0#1').write([here('a', { activeAgeMs: 1000 })]);
    await storeOf('r1#1').write([here('a', { activeAgeMs: 9000 })]);
    near(await fromNow('ZSCORE', 'presence.last_seen', 'a'), -1000);
  });

  test('a user whom Redis forgot is taken back in silence; one who was swept in the meantime is announced', async () => {
    const store = storeOf('r0#1');
    const [first] = await store.write([here('a')]);
    const confirmedMs = first?.confirmedMs ?? 0;
    await log.call('FLUSHALL');
    expect(await outcomesOf(store, here('a', { confirmedMs }))).toEqual(['restored']);

    const [again] = await store.write([here('a', { confirmedMs })]);
    await log.call('DEL', 'presence:a', 'presence.online'); // as a sweep leaves it: the last activity stays
    expect(await outcomesOf(store, here('a', { confirmedMs: again?.confirmedMs ?? 0 }))).toEqual(['online']);
    expect(await published('a')).toEqual(['online', 'online']);
  });

  test('a Redis that came back with an older state counts as having forgotten', async () => {
    const store = storeOf('r0#1');
    const [first] = await store.write([here('a')]);
    await log.call('DEL', 'presence:a', 'presence.online');
    await log.call('ZADD', 'presence.last_seen', (await redisMs()) - 60_000, 'a');
    expect(await outcomesOf(store, here('a', { confirmedMs: first?.confirmedMs ?? 0 }))).toEqual(['restored']);
  });

  test('a write that arrives after its caller gave up does nothing', async () => {
    const time = new RedisTime();
    const store = storeOf('r0#1', time);
    const nowMs = systemClock.nowMs();
    time.learn((await redisMs()) - 5000, nowMs, nowMs); // as if it had lain in a buffer for five seconds
    expect(await outcomesOf(store, here('a'))).toEqual(['rejected']);
    expect(await log.call('EXISTS', 'presence:a')).toBe(0);
    // Its reply corrected what was believed of Redis's clock.
    expect(await outcomesOf(store, here('a'))).toEqual(['online']);
  });

  test('a chunk of 250 users is three scripts, and every user has his own result', async () => {
    const store = storeOf('r0#1');
    await store.write([here('u7')]);
    const states = Array.from({ length: 250 }, (_, i) => here(`u${i}`));
    const results = await store.write(states);
    expect(results.filter(({ outcome }) => outcome === 'online')).toHaveLength(249);
    expect(results[7]?.outcome).toBe('held');
    expect(await log.call('ZCARD', 'presence.online')).toBe(250);
  });

  test('a key of another type costs nobody else anything, and gives way', async () => {
    await log.call('SET', 'presence:a', 'garbage');
    expect(await outcomesOf(storeOf('r0#1'), here('a'), here('b'))).toEqual(['online', 'online']);
    await log.call('SET', 'presence:b', 'garbage');
    expect(await outcomesOf(storeOf('r0#1'), left('b', 20_000), here('c'))).toEqual(['over', 'online']);
  });

  test.each(['__proto__', 'ü 😀', 'quote " slash \\ /', '{"x":1}', '#', '123'])('the id %j is as good as any', async (id) => {
    const store = storeOf('r0#1');
    await store.write([here(id)]);
    expect(await published(id)).toEqual(['online']);
    expect(await store.read([user(id)])).toEqual([expect.objectContaining({ user_id: id, status: 'online' })]);
  });
});

describe('sweeping', () => {
  async function expireNow(...ids: string[]): Promise<void> {
    for (const id of ids) {
      await log.call('ZADD', 'presence.online', 1000, id);
      await log.call('ZADD', 'presence:'.concat(id), 1000, 'dead#1');
    }
  }

  test('one claim per sweep, whoever asks', async () => {
    await storeOf('r0#1').write([here('a')]);
    await log.call('SET', 'presence.swept_at', (await redisMs()) - 2000);
    await expireNow('b');
    expect((await storeOf('r0#1').claimSweep(500))?.users).toEqual(['b']);
    expect((await storeOf('r1#1').claimSweep(500))?.users).toEqual([]);
    expect((await storeOf('r1#1').claimSweep(0))?.users).toEqual(['b']);
    near(await fromNow('GET', 'presence.swept_at'), 0);
  });

  test('who has no lease any more is published offline once, with the last activity, by whoever sweeps', async () => {
    const store = storeOf('r0#1');
    await log.call('SET', 'presence.swept_at', await redisMs());
    const seenMs = (await redisMs()) - 70_000;
    await log.call('ZADD', 'presence.last_seen', seenMs, 'a');
    await expireNow('a', 'b');
    const claims = [await store.claimSweep(0), await storeOf('r1#1').claimSweep(0)];
    const gone = [];
    for (const claim of claims) gone.push(claim && (await store.expire(claim)));
    expect(gone).toEqual([2, 0]);
    expect(await published('a')).toEqual(['offline']);
    expect(log.messages.find(({ userId }) => userId === 'a')?.lastSeenMs).toBe(seenMs);
    near((log.messages[0]?.atMs ?? 0) - (await redisMs()), 0);
    expect(await log.call('EXISTS', 'presence:a', 'presence:b', 'presence.online')).toBe(0);
  });

  test('who was taken up again after the list was read stays online, with a corrected score', async () => {
    const store = storeOf('r0#1');
    await log.call('SET', 'presence.swept_at', await redisMs());
    await expireNow('a');
    const claim = await store.claimSweep(0);
    await store.write([here('a')]);
    await log.call('ZADD', 'presence.online', 1000, 'a');
    expect(claim && (await store.expire(claim))).toBe(0);
    near(await fromNow('ZSCORE', 'presence.online', 'a'), times.leaseTtlMs);
    expect(await published('a')).toEqual([]);
  });

  test('after a silence of more than five sweeps nobody is taken out for a renewal and the grace', async () => {
    const store = storeOf('r0#1');
    await log.call('SET', 'presence.swept_at', (await redisMs()) - 5500);
    await expireNow('a');
    const claim = await store.claimSweep(500);
    expect(claim?.users).toEqual([]);
    near(await fromNow('GET', 'presence.swept_at'), times.renewMs + times.graceMs);
    expect((await storeOf('r1#1').claimSweep(0))?.users).toEqual([]);
    // The hold is over.
    await log.call('SET', 'presence.swept_at', (await redisMs()) - 1);
    expect((await store.claimSweep(0))?.users).toEqual(['a']);
  });

  test('four sweeps late is no silence', async () => {
    await log.call('SET', 'presence.swept_at', (await redisMs()) - 4500);
    await expireNow('a');
    expect((await storeOf('r0#1').claimSweep(500))?.users).toEqual(['a']);
  });

  test('where nobody ever swept there is a hold if somebody is online, and none if nobody is', async () => {
    const store = storeOf('r0#1');
    expect(await store.claimSweep(500)).toMatchObject({ sweptBeforeMs: undefined, onlineCount: 0 });
    near(await fromNow('GET', 'presence.swept_at'), 0);
    await log.call('DEL', 'presence.swept_at');
    await expireNow('a');
    expect(await store.claimSweep(500)).toMatchObject({ onlineCount: 1, users: [] });
    near(await fromNow('GET', 'presence.swept_at'), times.renewMs + times.graceMs);
  });

  test('a hold that another clock wrote far ahead does not stop the sweeps for ever', async () => {
    const store = storeOf('r0#1');
    await log.call('SET', 'presence.swept_at', (await redisMs()) + 3_600_000);
    await expireNow('a');
    await store.claimSweep(500);
    near(await fromNow('GET', 'presence.swept_at'), times.renewMs + times.graceMs);
  });

  test('a list that has become old is not acted upon', async () => {
    const store = storeOf('r0#1');
    await log.call('SET', 'presence.swept_at', await redisMs());
    await expireNow('a');
    const claim = await store.claimSweep(0);
    expect(claim && (await store.expire({ ...claim, nowMs: claim.nowMs - 5001 }))).toBe(0);
    expect(await published('a')).toEqual([]);
  });

  test('a key of another type holds nobody', async () => {
    await log.call('SET', 'presence.swept_at', await redisMs());
    await expireNow('a', 'b');
    await log.call('DEL', 'presence:a');
    await log.call('SET', 'presence:a', 'garbage');
    const store = storeOf('r0#1');
    const claim = await store.claimSweep(0);
    expect(claim && (await store.expire(claim))).toBe(2);
    expect(await log.call('EXISTS', 'presence:a')).toBe(0);
  });

  test('last activities are forgotten after 30 days', async () => {
    const dayMs = 24 * 60 * 60 * 1000;
    const nowMs = await redisMs();
    await log.call('ZADD', 'presence.last_seen', nowMs - 31 * dayMs, 'old', nowMs - 29 * dayMs, 'recent');
    await storeOf('r0#1').claimSweep(0);
    expect(await log.call('ZRANGE', 'presence.last_seen', 0, -1)).toEqual(['recent']);
  });
});

describe('reading', () => {
  test('a thousand users in one round trip: membership is the state, also in the grace and before the sweep', async () => {
    const store = storeOf('r0#1');
    await store.write([here('here'), here('grace')]);
    await store.write([left('grace', 1000)]);
    await log.call('ZADD', 'presence.online', 1000, 'unswept');
    await log.call('ZADD', 'presence.last_seen', 1_767_225_600_000, 'gone');
    const crowd = Array.from({ length: 995 }, (_, i) => user(`u${i}`));
    const before = Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(await log.call('INFO', 'commandstats')))?.[1] ?? 0);
    const entries = await store.read([...['here', 'grace', 'unswept', 'gone', 'nobody'].map(user), ...crowd]);
    const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(await log.call('INFO', 'commandstats')))?.[1] ?? 0) - before;
    expect(calls).toBeLessThanOrEqual(1);
    const atMs = entries?.[0]?.at_ms ?? 0;
    near(atMs - (await redisMs()), 0);
    expect(entries?.slice(0, 5)).toEqual([
      { user_id: 'here', status: 'online', at_ms: atMs },
      { user_id: 'grace', status: 'online', at_ms: atMs },
      { user_id: 'unswept', status: 'online', at_ms: atMs },
      { user_id: 'gone', status: 'offline', last_seen: '2026-01-01T00:00:00.000Z', at_ms: atMs },
      { user_id: 'nobody', status: 'offline', at_ms: atMs },
    ]);
    expect(entries).toHaveLength(1000);
  });
});

describe('peers', () => {
  const peerStore = (): PeerStore =>
    new PeerStore(new ScriptDoor(log.redis.command, systemClock, new RedisHealth(systemClock, silentLogger)));

  test('what is written is read back, for a day', async () => {
    const store = peerStore();
    const written = await store.write([
      { userId: user('a'), add: [user('b'), user('c')], remove: [] },
      { userId: user('b'), add: [user('a')], remove: [] },
    ]);
    expect(written).toEqual([true, true]);
    await store.write([{ userId: user('a'), add: [user('d')], remove: [user('c')] }]);
    const sets = await store.read([user('a'), user('b'), user('nobody')], 100);
    expect(sets.map((peers) => peers?.toSorted())).toEqual([['b', 'd'], ['a'], []]);
    near(Number(await log.call('PTTL', 'presence.peers:a')), 24 * 60 * 60 * 1000);
  });

  test('reading begins the day anew, at most once an hour', async () => {
    const store = peerStore();
    const [hourMs, dayMs] = [60 * 60 * 1000, 24 * 60 * 60 * 1000];
    await store.write([{ userId: user('a'), add: [user('b')], remove: [] }]);
    await log.call('PEXPIRE', 'presence.peers:a', dayMs - hourMs / 2);
    await store.read([user('a')], 100);
    near(Number(await log.call('PTTL', 'presence.peers:a')), dayMs - hourMs / 2);
    await log.call('PEXPIRE', 'presence.peers:a', dayMs - 2 * hourMs);
    await store.read([user('a')], 100);
    near(Number(await log.call('PTTL', 'presence.peers:a')), dayMs);
  });

  // One key that held something else kept up to a hundred users from being read and written, for ever.
  test('a key that holds something else gives way, and costs nobody else of its chunk anything', async () => {
    const store = peerStore();
    await store.write([{ userId: user('b'), add: [user('a')], remove: [] }]);
    await log.call('SET', 'presence.peers:a', 'garbage');
    expect(await store.read([user('a'), user('b')], 100)).toEqual([[], ['a']]);
    await log.call('SET', 'presence.peers:a', 'garbage');
    const writes = [
      { userId: user('a'), add: [user('c')], remove: [user('d')] },
      { userId: user('b'), add: [user('c')], remove: [user('a')] },
    ];
    expect(await store.write(writes)).toEqual([true, true]);
    await log.call('SET', 'presence.peers:x', 'garbage');
    expect(await store.write([{ userId: user('x'), add: [], remove: [user('d')] }])).toEqual([true]);
    expect(await store.read(['a', 'b', 'x'].map(user), 100)).toEqual([['c'], ['c'], []]);
  });

  test('a member that is no id costs a user only that one, not the peers beside it', async () => {
    await log.call('SADD', 'presence.peers:a', 'b', '', 'c\n', 'x'.repeat(129), 'd');
    const [peers] = await peerStore().read([user('a')], 100);
    expect(peers?.toSorted()).toEqual(['b', 'd']);
  });

  test('of a set that is too big only so many are read', async () => {
    const store = peerStore();
    await store.write([{ userId: user('a'), add: Array.from({ length: 50 }, (_, i) => user(`p${i}`)), remove: [] }]);
    expect((await store.read([user('a')], 20))[0]).toHaveLength(20);
  });
});

describe('without Redis', () => {
  let away: RedisServer;
  afterEach(() => away.stop());

  test('a write without an answer may still be done, one that could not be sent may not', async () => {
    away = await startRedisServer();
    const theirs = await new TransitionLog(away.url).start();
    const door = new ScriptDoor(theirs.redis.command, systemClock, new RedisHealth(systemClock, silentLogger));
    const store = new LeaseStore(door, new RedisTime(), systemClock, { ...times, holder: 'r0#1' });
    away.pause();
    expect(await outcomesOf(store, here('a'))).toEqual(['unanswered']);
    expect(await outcomesOf(store, here('a'))).toEqual(['rejected']);
    theirs.stop();
  });

  test('nothing throws: leases are not written, and nothing else is known', async () => {
    away = await startRedisServer();
    const theirs = await new TransitionLog(away.url).start();
    const door = new ScriptDoor(theirs.redis.command, systemClock, new RedisHealth(systemClock, silentLogger));
    const store = new LeaseStore(door, new RedisTime(), systemClock, { ...times, holder: 'r0#1' });
    await away.kill();
    expect(await store.write([here('a')])).toEqual([{ outcome: expect.stringMatching('unanswered|rejected') as string, confirmedMs: 0 }]);
    expect(await store.read([user('a')])).toBeUndefined();
    expect(await store.claimSweep(0)).toBeUndefined();
    const claim = { nowMs: 0, sweptBeforeMs: 0, sweptMs: 0, onlineCount: 1, users: ['a'] };
    expect(await store.expire(claim)).toBeUndefined();
    expect(await new PeerStore(door).read([user('a')], 10)).toEqual([undefined]);
    expect(await new PeerStore(door).write([{ userId: user('a'), add: [], remove: [] }])).toEqual([false]);
    theirs.stop();
  });
});

import type { PresenceEntry, UserId } from '@event-gateway/protocol';
import { FakeClock, silentLogger } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { Audience } from './audience.js';
import { RedisHealth } from './redis-health.js';
import { Snapshots, snapshotSpreadMs } from './snapshots.js';
import { type TestConnection, TestHub, user } from './test/test-hub.js';

const [a, b, c] = ['a', 'b', 'c'].map(user) as [UserId, UserId, UserId];

let clock: FakeClock;
let hub: TestHub;
let audience: Audience;
let health: RedisHealth;
let snapshots: Snapshots;
let online: Set<UserId>;
let reads: (readonly UserId[])[];
let latencyMs: number;
let failing: boolean;
let loaded: () => Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  hub = new TestHub();
  audience = new Audience({ audience: 'direct', maxPeers: 5000, lessonPairs: 1000 });
  health = new RedisHealth(clock, silentLogger);
  online = new Set();
  reads = [];
  latencyMs = 10;
  failing = false;
  loaded = () => Promise.resolve();
  const reader = {
    redisNowMs: () => clock.wallMs(),
    read: async (users: readonly UserId[]): Promise<PresenceEntry[] | undefined> => {
      reads.push(users);
      const entries = users.map((id) => ({ user_id: id, status: online.has(id) ? 'online' : 'offline', at_ms: clock.wallMs() }) as const);
      await clock.sleep(latencyMs);
      if (failing || health.isAway) return undefined;
      return entries;
    },
  };
  const peers = { loaded: () => loaded() };
  snapshots = new Snapshots({ hub, audience, reader, peers, health, clock, logger: silentLogger, random: () => 0.5 });
});

function connect(userId: UserId, ...peers: UserId[]): TestConnection {
  audience.join(userId);
  audience.recall(userId, peers);
  return hub.connect(userId);
}

/** The snapshot of the connection's user. */
async function entriesInto(connection: TestConnection): Promise<readonly PresenceEntry[]> {
  let entries: readonly PresenceEntry[] = [];
  await snapshots.into(connection, (presence) => {
    entries = presence;
  });
  return entries;
}

async function loseRedis(forMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < forMs; passedMs += 1000) {
    await clock.advance(1000);
    health.failed(new Error('down'), clock.nowMs());
  }
}

const transition = (userId: UserId, status: 'online' | 'offline', atMs = clock.wallMs()) => {
  const message = { userId, status, atMs };
  return [message, JSON.stringify({ type: 'presence', user_id: userId, status, at_ms: atMs })] as const;
};

describe('of one user', () => {
  test('every peer is in it, online or offline; without peers it is empty and asks nobody', async () => {
    const [mine, lonely] = [connect(a, b, c), connect(b)];
    online.add(b);
    const entries = Promise.all([entriesInto(mine), entriesInto(lonely)]);
    await clock.advance(latencyMs);
    expect((await entries).map((list) => list.map(({ user_id, status }) => `${user_id} ${status}`))).toEqual([
      ['b online', 'c offline'],
      [],
    ]);
    expect(reads).toHaveLength(1);
  });

  test('it waits for the peers that are being read', async () => {
    const connection = connect(a);
    loaded = async () => {
      await clock.sleep(50);
      audience.recall(a, [b]);
    };
    const entries = entriesInto(connection);
    await clock.advance(50 + latencyMs);
    expect(await entries).toHaveLength(1);
  });

  test('a Redis that hangs is waited for less than a second; then all are unknown, and the truth follows', async () => {
    const connection = connect(a, b, c);
    latencyMs = 60_000;
    let entries: readonly PresenceEntry[] = [];
    void entriesInto(connection).then((list) => {
      entries = list;
    });
    await clock.advance(899);
    expect(entries).toEqual([]);
    await clock.advance(1);
    expect(entries.map(({ status }) => status)).toEqual(['unknown', 'unknown']);
    latencyMs = 10;
    await clock.advance(1000 + snapshotSpreadMs);
    expect(connection.snapshots().map(({ presence }) => presence.map(({ status }) => status))).toEqual([['offline', 'offline']]);
  });

  test('a Redis that is known to be away is not waited for', async () => {
    const connection = connect(a, b);
    await loseRedis(3000);
    const entries = await entriesInto(connection);
    expect(entries).toEqual([{ user_id: 'b', status: 'unknown', at_ms: clock.wallMs() }]);
    expect(reads).toEqual([]);
  });
});

describe('events meanwhile', () => {
  test('are held for that connection, and follow behind the snapshot', async () => {
    const [mine, others] = [connect(a, b, c), connect(c, b)];
    void snapshots.into(mine, (presence) => mine.writeControl({ type: 'presence.snapshot', presence }));
    await clock.advance(1);
    expect(snapshots.keep(mine, ...transition(b, 'online'))).toBe(true);
    expect(snapshots.keep(others, ...transition(b, 'online'))).toBe(false);
    expect(mine.frames).toEqual([]);
    await clock.advance(latencyMs);
    expect(mine.frames.map(({ type }) => type)).toEqual(['presence.snapshot', 'presence']);
    expect(mine.believes('b')).toBe('online');
    expect(snapshots.keep(mine, ...transition(b, 'offline'))).toBe(false);
  });

  test('that are older than the snapshot are not told any more', async () => {
    const connection = connect(a, b);
    const old = transition(b, 'online', clock.wallMs() - 1);
    void snapshots.into(connection, (presence) => connection.writeControl({ type: 'presence.snapshot', presence }));
    await clock.advance(1);
    snapshots.keep(connection, ...old);
    await clock.advance(latencyMs);
    expect(connection.told('b')).toEqual([]);
  });

  test('of one user only the newest is kept', async () => {
    const connection = connect(a, b);
    void snapshots.into(connection, () => undefined);
    await clock.advance(1);
    for (let i = 0; i < 1000; i++) snapshots.keep(connection, ...transition(b, i % 2 === 0 ? 'online' : 'offline'));
    await clock.advance(latencyMs);
    expect(connection.told('b')).toEqual(['offline']);
  });

  test('are held until the last of several snapshots under way', async () => {
    const connection = connect(a, b);
    void snapshots.into(connection, () => undefined);
    await clock.advance(5);
    void snapshots.into(connection, () => undefined);
    await clock.advance(6);
    expect(snapshots.keep(connection, ...transition(b, 'online'))).toBe(true);
    await clock.advance(latencyMs);
    expect(connection.told('b')).toEqual(['online']);
  });

  test('that a full socket loses are told by another snapshot', async () => {
    const connection = connect(a, b);
    void snapshots.into(connection, () => undefined);
    await clock.advance(1);
    snapshots.keep(connection, ...transition(b, 'online'));
    online.add(b);
    connection.isFull = true;
    await clock.advance(1000 + snapshotSpreadMs);
    expect(connection.believes('b')).toBe('online');
  });

  test('a connection that closed meanwhile is not written to', async () => {
    const connection = connect(a, b);
    void snapshots.into(connection, (presence) => connection.writeControl({ type: 'presence.snapshot', presence }));
    await clock.advance(1);
    snapshots.keep(connection, ...transition(b, 'online'));
    hub.close(connection);
    await clock.advance(latencyMs);
    expect(connection.frames).toEqual([]);
  });

  test('are released also when the writer fails', async () => {
    const connection = connect(a, b);
    const failed = snapshots.into(connection, () => {
      throw new Error('bug');
    });
    const caught = expect(failed).rejects.toThrow('bug');
    await clock.advance(latencyMs);
    await caught;
    expect(snapshots.keep(connection, ...transition(b, 'online'))).toBe(false);
  });
});

describe('for everybody', () => {
  test('a thousand users are served within the spread, by a handful of reads', async () => {
    const users = Array.from({ length: 1000 }, (_, i) => user(`u${i}`));
    const connections = users.map((id, i) => connect(id, user(`u${(i + 1) % 1000}`)));
    for (const id of users) snapshots.schedule(id);
    await clock.advance(snapshotSpreadMs + 200);
    expect(connections.every((connection) => connection.snapshots().length === 1)).toBe(true);
    expect(reads.length).toBeLessThanOrEqual(20);
  });

  test('all connections of a user get the same', async () => {
    const tabs = [connect(a, b), hub.connect(a)];
    snapshots.schedule(a);
    await clock.advance(snapshotSpreadMs);
    expect(tabs.map((tab) => tab.snapshots().length)).toEqual([1, 1]);
  });

  test('asked for twice it comes once, not before the later delay', async () => {
    const connection = connect(a, b);
    snapshots.schedule(a);
    snapshots.schedule(a, 5000);
    snapshots.schedule(a);
    await clock.advance(5000);
    expect(connection.snapshots()).toEqual([]);
    await clock.advance(snapshotSpreadMs);
    expect(connection.snapshots()).toHaveLength(1);
  });

  test('a scheduled one holds events too', async () => {
    const connection = connect(a, b);
    snapshots.schedule(a);
    await clock.advance(snapshotSpreadMs / 2 + 5);
    expect(reads).toHaveLength(1);
    expect(snapshots.keep(connection, ...transition(b, 'online'))).toBe(true);
    await clock.advance(100);
    expect(connection.frames.map(({ type }) => type)).toEqual(['presence.snapshot', 'presence']);
  });

  test('who has no peers is told so without a read; who is gone is not served', async () => {
    const [lonely, gone] = [connect(a), connect(b, c)];
    snapshots.schedule(a);
    snapshots.schedule(b);
    hub.close(gone);
    await clock.advance(snapshotSpreadMs);
    expect([lonely.frames, gone.frames, reads]).toEqual([[{ type: 'presence.snapshot', presence: [] }], [], []]);
  });

  test('while Redis is away they wait; after ten seconds they say unknown', async () => {
    const connection = connect(a, b);
    health.onLongAway(() => snapshots.schedule(a));
    await loseRedis(3000);
    snapshots.schedule(a);
    await loseRedis(6000);
    expect(connection.frames).toEqual([]);
    await loseRedis(4000);
    expect(connection.snapshots().map(({ presence }) => presence.map(({ status }) => status))).toEqual([['unknown']]);
    health.onReturned(() => snapshots.schedule(a));
    online.add(b);
    health.succeeded();
    await clock.advance(snapshotSpreadMs);
    expect(connection.believes('b')).toBe('online');
  });

  test('one whose read failed comes later, and what was held meanwhile is told', async () => {
    const connection = connect(a, b);
    failing = true;
    snapshots.schedule(a);
    await clock.advance(snapshotSpreadMs / 2 + 5);
    snapshots.keep(connection, ...transition(b, 'online'));
    await clock.advance(10);
    expect(connection.frames.map(({ type }) => type)).toEqual(['presence']);
    failing = false;
    await clock.advance(1000 + snapshotSpreadMs);
    expect(connection.snapshots()).toHaveLength(1);
  });

  test('stopped, it serves nobody', async () => {
    const connection = connect(a, b);
    snapshots.schedule(a);
    snapshots.stop();
    snapshots.schedule(a);
    await clock.advance(10_000);
    expect(connection.frames).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });
});

import type { UserId } from '@event-gateway/protocol';
import { FakeClock, silentLogger } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { Audience } from './audience.js';
import { PeerKeeper } from './peer-keeper.js';
import type { PeerWrite } from './peer-store.js';
import { user } from './test/test-hub.js';

const hourMs = 60 * 60 * 1000;
const [a, b, c] = ['a', 'b', 'c'].map(user) as [UserId, UserId, UserId];

let clock: FakeClock;
let audience: Audience;
let keeper: PeerKeeper;
let kept: Map<UserId, UserId[]>;
let reads: (readonly UserId[])[];
let writes: (readonly PeerWrite[])[];
let isUp: boolean;
/** Users whose peers Redis does not give. */
let refused: ReadonlySet<UserId>;
let latencyMs: number;

beforeEach(() => {
  clock = new FakeClock();
  audience = new Audience({ audience: 'direct', maxPeers: 100, lessonPairs: 1000 });
  kept = new Map();
  reads = [];
  writes = [];
  isUp = true;
  refused = new Set();
  latencyMs = 0;
  const shelf = {
    read: async (users: readonly UserId[]) => {
      reads.push(users);
      if (latencyMs > 0) await clock.sleep(latencyMs);
      return users.map((id) => (isUp && !refused.has(id) ? (kept.get(id) ?? []) : undefined));
    },
    write: async (changes: readonly PeerWrite[]) => {
      writes.push(changes);
      if (latencyMs > 0) await clock.sleep(latencyMs);
      return changes.map(() => isUp);
    },
  };
  keeper = new PeerKeeper({ shelf, audience, clock, logger: silentLogger, random: () => 0.5 }, { maxPeers: 100 });
  keeper.start();
});

function join(...users: UserId[]): void {
  for (const id of users) {
    audience.join(id);
    keeper.join(id);
  }
}

describe('at connect', () => {
  test('what Redis keeps of a user is known when `loaded` resolves', async () => {
    kept.set(a, [b, c]);
    join(a);
    let known: UserId[] = [];
    void keeper.loaded(a).then(() => {
      known = [...audience.peersOf(a)];
    });
    await clock.advance(0);
    expect(known).toEqual([b, c]);
  });

  test('ten thousand who come at once are ten round trips', async () => {
    for (let i = 0; i < 10_000; i++) join(user(`u${i}`));
    await clock.advance(2000);
    expect(reads).toHaveLength(10);
  });

  test('without Redis nobody waits, and the peers come when it is back', async () => {
    kept.set(a, [b]);
    isUp = false;
    const late: UserId[] = [];
    keeper.onLateRecall((id) => late.push(id));
    join(a);
    let isLoaded = false;
    void keeper.loaded(a).then(() => {
      isLoaded = true;
    });
    await clock.advance(0);
    expect([isLoaded, audience.peerCount(a)]).toEqual([true, 0]);
    isUp = true;
    await clock.advance(2000);
    expect([...audience.peersOf(a)]).toEqual([b]);
    expect(late).toEqual([a]);
  });

  // Of a crowd, only the first thousand are in the trip that fails. The rest waited behind them, and so did their syncs, for as long as
  // Redis was away.
  test('without Redis nobody of a crowd waits either, and the peers of each come when it is back', async () => {
    const crowd = Array.from({ length: 2500 }, (_, i) => user(`u${i}`));
    for (const id of crowd) kept.set(id, [b]);
    isUp = false;
    const late = new Set<UserId>();
    keeper.onLateRecall((id) => late.add(id));
    join(...crowd);
    let loaded = 0;
    for (const id of crowd) void keeper.loaded(id).then(() => loaded++);
    await clock.advance(0);
    expect(loaded).toBe(crowd.length);
    isUp = true;
    await clock.advance(5000);
    expect(crowd.filter((id) => audience.peerCount(id) === 1)).toHaveLength(crowd.length);
    expect(late.size).toBe(crowd.length);
  });

  test('those who cannot be read do not keep others from it', async () => {
    const unreadable = new Set(Array.from({ length: 1500 }, (_, i) => user(`bad${i}`)));
    refused = unreadable;
    join(...unreadable);
    kept.set(a, [b]);
    join(a);
    await clock.advance(10_000);
    expect([...audience.peersOf(a)]).toEqual([b]);
  });

  test('who left before the answer is not remembered, and nobody waits for him', async () => {
    kept.set(a, [b]);
    join(a);
    const loaded = keeper.loaded(a);
    keeper.leave(a);
    audience.leave(a);
    await loaded;
    await clock.advance(1000);
    expect(reads).toEqual([]);
  });

  test('who left and came back before the answer is read again, and not left waiting', async () => {
    join(a);
    latencyMs = 50;
    await clock.advance(10);
    keeper.leave(a);
    audience.leave(a);
    join(a);
    let isLoaded = false;
    void keeper.loaded(a).then(() => {
      isLoaded = true;
    });
    await clock.advance(500);
    expect([isLoaded, reads.length]).toEqual([true, 2]);
  });

  test('stopped, it lets everybody go who waits', async () => {
    join(a);
    const loaded = keeper.loaded(a);
    keeper.stop();
    await loaded;
    expect(reads).toEqual([]);
  });
});

describe('what is learned', () => {
  test('is written once, many pairs in one round trip', async () => {
    join(a, b);
    await clock.advance(200);
    keeper.learned([
      { viewer: a, peer: b },
      { viewer: a, peer: c },
      { viewer: b, peer: a },
    ]);
    keeper.forgotten([{ viewer: a, peer: c }]);
    await clock.advance(1000);
    expect(writes).toEqual([
      [
        { userId: a, add: [b], remove: [c] },
        { userId: b, add: [a], remove: [] },
      ],
    ]);
  });

  test('is written when Redis is back, with what was learned during the write that failed winning', async () => {
    join(a);
    await clock.advance(200);
    isUp = false;
    latencyMs = 50;
    keeper.learned([
      { viewer: a, peer: b },
      { viewer: a, peer: c },
    ]);
    await clock.advance(20);
    keeper.forgotten([{ viewer: a, peer: b }]);
    await clock.advance(900);
    // A Redis that is away is not asked again at once.
    expect(writes).toHaveLength(1);
    isUp = true;
    await clock.advance(3000);
    expect(writes.at(-1)).toEqual([{ userId: a, add: [c], remove: [b] }]);
  });

  test('that waits for Redis is bounded', async () => {
    isUp = false;
    for (let i = 0; i < 30_000; i++) keeper.learned([{ viewer: user(`u${i}`), peer: a }]);
    isUp = true;
    await clock.advance(60_000);
    expect(new Set(writes.flatMap((trip) => trip.map(({ userId }) => userId))).size).toBe(20_000);
  });

  test('is written anew after a loss', async () => {
    join(a);
    await clock.advance(200);
    audience.recall(a, [b, c]);
    keeper.rewriteAll();
    await clock.advance(1000);
    expect(writes).toEqual([[{ userId: a, add: [b, c], remove: [] }]]);
  });

  test('is kept alive once an hour for those who are here', async () => {
    kept.set(a, [b]);
    join(a, c);
    await clock.advance(hourMs - 60_000);
    expect(writes).toEqual([]);
    await clock.advance(2 * hourMs + 120_000);
    expect(writes).toEqual(Array.from({ length: 3 }, () => [{ userId: a, add: [], remove: [] }]));
    audience.leave(a);
    keeper.leave(a);
    await clock.advance(5 * hourMs);
    expect(writes).toHaveLength(3);
  });
});

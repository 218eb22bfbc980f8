import type { ConversationCard, ConversationId } from '@event-gateway/protocol';
import { FakeClock, type Logger, Metrics, silentLogger } from '@event-gateway/runtime';
import type { ScriptCall } from '@event-gateway/redis';
import { beforeEach, describe, expect, test } from 'vitest';
import { Presence, type PresenceDeps, type PresenceOptions } from './presence.js';
import { TestHub, user } from './test/test-hub.js';

const options: PresenceOptions = {
  ...{ holder: 'r0#1', leaseTtlMs: 60_000, renewMs: 20_000, graceMs: 15_000, sweepMs: 1000, commandTimeoutMs: 1000 },
  audience: 'direct',
};

/** Answers presence's scripts as Redis would when nothing but this replica's users matters. */
class FakeRedis {
  readonly calls: ScriptCall[] = [];
  readonly online = new Set<string>();
  isUp = true;
  /** It takes what it is asked, and never answers. */
  isSilent = false;
  sweptMs: number | undefined;
  peers: string[] = [];

  async runScripts(calls: readonly ScriptCall[]): Promise<unknown[]> {
    this.calls.push(...calls);
    if (!this.isUp) throw new Error('down');
    if (this.isSilent) await new Promise(() => undefined);
    return calls.map((call) => this.#answer(call));
  }

  of(script: string): ScriptCall[] {
    return this.calls.filter((call) => call.script.name === `${script}.lua`);
  }

  #answer({ script, keys, args }: ScriptCall): unknown {
    const nowMs = clock.wallMs();
    switch (script.name) {
      case 'write-leases.lua':
        return [nowMs, ...keys.slice(2).map(() => 1)];
      case 'claim-sweep.lua': {
        const before = this.sweptMs ?? -1;
        this.sweptMs = nowMs;
        return [nowMs, before, nowMs, this.online.size];
      }
      case 'read-presence.lua':
        return [nowMs, args.map((id) => (this.online.has(String(id)) ? String(nowMs + 60_000) : null)), args.map(() => null)];
      case 'read-peers.lua':
        return keys.map(() => this.peers);
      default:
        return [nowMs, 0];
    }
  }
}

let clock: FakeClock;
let hub: TestHub;
let redis: FakeRedis;
let lines: string[];
let presence: Presence;

function create(overrides: Partial<PresenceDeps> = {}, changed: Partial<PresenceOptions> = {}): Presence {
  const logger: Logger = {
    ...silentLogger,
    child: () => logger,
    info: (_fields, message) => lines.push(`info: ${message}`),
    warn: (_fields, message) => lines.push(`warn: ${message}`),
  };
  return new Presence({ hub, redis, metrics: new Metrics(), clock, logger, random: () => 0.5, ...overrides }, { ...options, ...changed });
}

beforeEach(() => {
  clock = new FakeClock();
  hub = new TestHub();
  redis = new FakeRedis();
  lines = [];
  presence = create();
});

const direct = (a: string, b: string): ConversationCard => ({
  conversationId: `${a}-${b}` as ConversationId,
  type: 'direct',
  participants: [user(a), user(b)],
});

describe('while Redis is away', () => {
  test('there is one warning in ten seconds; after ten clients hear unknown, and the truth when it is back', async () => {
    presence.start();
    const tab = hub.connect(user('a'));
    presence.learnConversation(direct('a', 'b'));
    redis.online.add('b');
    await clock.advance(5000);
    expect(tab.believes('b')).toBe('online');
    redis.isUp = false;
    await clock.advance(9000);
    expect(tab.believes('b')).toBe('online');
    await clock.advance(6000);
    expect(tab.believes('b')).toBe('unknown');
    await clock.advance(45_000);
    expect(tab.snapshots()).toHaveLength(2);
    expect(lines).toEqual(Array.from({ length: 6 }, () => 'warn: presence cannot reach Redis'));
    redis.isUp = true;
    const before = redis.of('write-leases').length;
    await clock.advance(5000);
    expect(tab.believes('b')).toBe('online');
    expect(lines.at(-1)).toBe('info: presence reaches Redis again');
    expect(redis.of('write-leases').length).toBeGreaterThan(before);
  });

  test('the endpoint answers at once: everybody is unknown, and it says that it is degraded', async () => {
    presence.start();
    redis.isUp = false;
    const answer = await presence.query(['a', 'b', 'a', '']);
    expect(answer.degraded).toBe(true);
    expect([...answer.presence].map(([id, { status }]) => `${id} ${status}`)).toEqual(['a unknown', 'b unknown']);
  });

  test('the endpoint answers within a second while Redis hangs', async () => {
    redis.isSilent = true;
    const answer = presence.query(['a']);
    await clock.advance(999);
    expect(await answer).toMatchObject({ degraded: true, presence: new Map([['a', { user_id: 'a', status: 'unknown', at_ms: 0 }]]) });
    expect(clock.pendingCount).toBe(0);
  });

  test('a connection that asks hears unknown now, and the truth by itself later', async () => {
    presence.start();
    const tab = hub.connect(user('a'));
    presence.learnConversation(direct('a', 'b'));
    await clock.advance(3000);
    redis.isUp = false;
    await clock.advance(3000);
    await presence.snapshotInto(tab, (entries) => tab.writeControl({ type: 'presence.snapshot', presence: entries }));
    expect(tab.believes('b')).toBe('unknown');
    redis.isUp = true;
    await clock.advance(5000);
    expect(tab.believes('b')).toBe('offline');
  });
});

describe('when Redis has forgotten', () => {
  test('leases and peers are written anew at once, and everybody is told twice: soon, and when all must be back', async () => {
    presence.start();
    const tab = hub.connect(user('a'));
    presence.learnConversation(direct('a', 'b'));
    await clock.advance(5000);
    const [leases, peers, snapshots] = [redis.of('write-leases').length, redis.of('write-peers').length, tab.snapshots().length];
    redis.sweptMs = undefined;
    await clock.advance(2500);
    expect(redis.of('write-leases').length).toBe(leases + 1);
    expect(redis.of('write-peers').length).toBe(peers + 1);
    expect(tab.snapshots().length).toBe(snapshots);
    await clock.advance(4000);
    expect(tab.snapshots().length).toBe(snapshots + 1);
    await clock.advance(options.renewMs + options.graceMs);
    expect(tab.snapshots().length).toBe(snapshots + 2);
    expect(lines).toEqual(['warn: Redis lost presence data, leases are written anew']);
  });

  test('a subscriber that came back is followed by a snapshot, and by leases for what else was lost', async () => {
    presence.start();
    const tab = hub.connect(user('a'));
    presence.learnConversation(direct('a', 'b'));
    await clock.advance(5000);
    const [leases, snapshots] = [redis.of('write-leases').length, tab.snapshots().length];
    presence.onSubscriberReconnected();
    await clock.advance(3000);
    expect(redis.of('write-leases').length).toBe(leases + 1);
    expect(tab.snapshots().length).toBe(snapshots + 1);
  });
});

describe('peers', () => {
  test('what Redis keeps is there for the first snapshot of a connection', async () => {
    redis.peers = ['b', 'c'];
    presence.start();
    const tab = hub.connect(user('a'));
    const sending = presence.sendSnapshot(tab);
    await clock.advance(1);
    await sending;
    expect(tab.snapshots()[0]?.presence.map(({ user_id }) => user_id)).toEqual(['b', 'c']);
  });

  test('a sync’s list is kept, and is not told twice by a snapshot of its own', async () => {
    presence.start();
    const tab = hub.connect(user('a'));
    presence.learnSynced(user('a'), [{ conversationId: 'd1' as ConversationId, type: 'direct', peerId: user('b'), lastSeq: 1 }]);
    await clock.advance(5000);
    expect(tab.frames).toEqual([]);
    expect(redis.of('write-peers')[0]).toMatchObject({ keys: ['presence.peers:a'], args: [86_400_000, 1, 0, 'b'] });
  });

  test('with the audience `all` the cards of synced conversations are asked for, as a sync does not name members', async () => {
    const asked: string[][] = [];
    presence = create({ loadConversations: (ids) => asked.push([...ids]) }, { audience: 'all' });
    presence.start();
    hub.connect(user('a'));
    presence.learnSynced(user('a'), [{ conversationId: 'g1' as ConversationId, type: 'group', lastSeq: 1 }]);
    expect(asked).toEqual([['g1']]);
    const c = hub.connect(user('c'));
    presence.learnConversation({ conversationId: 'g1' as ConversationId, type: 'group', participants: ['a', 'b', 'c'].map(user) });
    presence.onMessage(JSON.stringify({ user_id: 'b', status: 'online', at_ms: clock.wallMs() }));
    expect(c.told('b')).toEqual(['online']);
  });
});

describe('a big group, with the audience `all`', () => {
  const members = Array.from({ length: 600 }, (_, i) => user(`u${i}`));
  const card: ConversationCard = { conversationId: 'g1' as ConversationId, type: 'group', participants: members };
  const written = (): number => redis.of('write-peers').reduce((sum, { keys, args }) => sum + args.length - 1 - 2 * keys.length, 0);

  // Members here × members in one go held up the loop for seconds.
  test('is learned in slices, and in the end everybody here has been shown everybody', async () => {
    presence = create({}, { audience: 'all' });
    presence.start();
    const tabs = members.slice(0, 50).map((id) => hub.connect(id));
    presence.learnConversation(card);
    await clock.advance(150);
    expect(written()).toBeGreaterThan(0);
    // What one lesson of 2000 and its last step learn, at most fifty times a second, and the first two at once.
    expect(written()).toBeLessThan(10 * (2000 + members.length));
    await clock.advance(10_000);
    expect(tabs.map((tab) => tab.snapshots().at(-1)?.presence.length)).toEqual(tabs.map(() => members.length - 1));
    expect(written()).toBe(50 * (members.length - 1));
    presence.learnConversation(card);
    await clock.advance(10_000);
    expect(written()).toBe(50 * (members.length - 1));
  });

  test('is not learned on by one that is stopped', async () => {
    presence = create({}, { audience: 'all' });
    presence.start();
    for (const id of members.slice(0, 50)) hub.connect(id);
    presence.learnConversation(card);
    presence.stop();
    await clock.advance(0);
    expect(clock.pendingCount).toBe(0);
  });
});

describe('life', () => {
  test('before the start nothing is done', async () => {
    hub.connect(user('a'));
    await clock.advance(100_000);
    expect(redis.calls).toEqual([]);
  });

  test('started twice it listens once; stopped it writes nothing and holds no timer', async () => {
    let listeners = 0;
    const onUserJoined = hub.onUserJoined.bind(hub);
    hub.onUserJoined = (listener) => {
      listeners++;
      onUserJoined(listener);
    };
    presence.start();
    presence.start();
    const tab = hub.connect(user('a'));
    presence.learnConversation(direct('a', 'b'));
    await clock.advance(10_000);
    expect(redis.of('write-leases')).toHaveLength(1);
    expect(listeners).toBe(1);
    presence.onDataLost();
    presence.onDataLost();
    presence.stop();
    const calls = redis.calls.length;
    await clock.advance(0);
    expect(clock.pendingCount).toBe(0);
    hub.close(tab);
    hub.connect(user('b'));
    await clock.advance(100_000);
    expect(redis.calls).toHaveLength(calls);
    expect(clock.pendingCount).toBe(0);
  });

  test('a drain writes the grace for everybody who was here', async () => {
    presence.start();
    const tab = hub.connect(user('a'));
    hub.connect(user('b'));
    await clock.advance(10_000);
    hub.close(tab);
    void presence.drain(1000);
    await clock.advance(100);
    const states = redis
      .of('write-leases')
      .slice(1)
      .flatMap(({ keys, args }) => keys.slice(2).map((key, i) => [key, args[6 + 4 * i + 2]]));
    expect(states).toEqual([
      ['presence:a', expect.any(Number)],
      ['presence:b', expect.any(Number)],
    ]);
    expect(states.every(([, leftMs]) => Number(leftMs) >= 0)).toBe(true);
  });
});

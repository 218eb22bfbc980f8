import type { PresenceEntry, StreamId, SyncConversation, UserId } from '@event-gateway/protocol';
import { type Logger, Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HttpOwner, type OwnerReply, userReply } from '../../test/http-owner.js';
import { asked, direct, type Frame, group, inPages, message, syncFrame, TestConnection } from '../../test/sync-rig.js';
import { CachedCards } from '../cards/cached-cards.js';
import { CardsMetrics } from '../cards/cards-metrics.js';
import { Owners } from '../cards/owners.js';
import { Sync } from './sync.js';
import { SyncMetrics } from './sync-metrics.js';

let messenger: HttpOwner;
let userService: HttpOwner;
let owners: Owners;
let metrics: Metrics;
let sync: Sync<TestConnection>;
let learned: { readonly userId: UserId; readonly ids: string[]; readonly isWhole: boolean }[];
let peers: PresenceEntry[];
let warnings: [object, string][];

beforeEach(async () => {
  learned = [];
  warnings = [];
  peers = [{ user_id: 'b' as UserId, status: 'online', at_ms: 1 }];
  messenger = await new HttpOwner().start();
  userService = await new HttpOwner().start();
  userService.reply = ({ url }) => userReply(url);
  build();
});
afterEach(async () => {
  await owners.stop();
  await Promise.all([messenger.stop(), userService.stop()]);
});

interface Limits {
  readonly maxPages?: number;
  readonly concurrency?: number;
  readonly queue?: number;
  readonly timeoutMs?: number;
}

function build({ maxPages = 50, concurrency = 4, queue = 10_000, timeoutMs = 20_000 }: Limits = {}): void {
  metrics = new Metrics();
  const cardsMetrics = new CardsMetrics(metrics);
  const logger: Logger = { ...silentLogger, warn: (fields, line) => warnings.push([fields, line]) };
  const options = {
    userServiceUrl: userService.url,
    messengerUrl: messenger.url,
    ownerToken: 'secret',
    ownerTimeoutMs: 20_000,
    ownerBreakerOpenMs: 100,
    syncTimeoutMs: timeoutMs,
    syncConcurrency: concurrency,
    syncQueue: queue,
  };
  owners = new Owners(systemClock, cardsMetrics, options, logger);
  const cards = new CachedCards(
    { users: owners.users, conversations: owners.conversations, clock: systemClock, metrics: cardsMetrics },
    { maxBytes: 8_000_000, ttlMs: 60_000, negativeTtlMs: 10_000, faultTtlMs: 100, deadlineMs: 20_000 },
  );
  const presence = {
    learnSynced: (userId: UserId, conversations: readonly SyncConversation[], isWhole: boolean) =>
      void learned.push({ userId, ids: conversations.map(({ conversationId }) => conversationId), isWhole }),
    snapshotInto: async (connection: TestConnection, write: (entries: readonly PresenceEntry[]) => void) => {
      await Promise.resolve();
      if (!connection.signal.aborted) write(peers);
    },
  };
  sync = new Sync(
    {
      messenger: owners,
      cards,
      presence,
      clock: systemClock,
      logger: silentLogger,
      metrics: new SyncMetrics(metrics),
    },
    { maxPages, retryAfterMs: 100, jitterMs: 50 },
  );
}

async function rebuild(limits: Limits): Promise<void> {
  await owners.stop();
  build(limits);
}

/** The requests for pages, as the messenger got them. */
function askedPages(): Record<string, unknown>[] {
  return messenger.requests.filter(({ url }) => url === '/internal/sync').map(asked);
}

async function run(connection: TestConnection, fields: object = {}): Promise<Frame> {
  sync.onSync(connection, syncFrame(fields));
  return connection.ended();
}

/** A busy machine is not a fault. */
const patiently = { timeout: 20_000 };

describe('a sync', () => {
  const events = [...Array.from({ length: 25 }, (_, i) => message('g1', i + 1)), message('d1', 1, 'b'), message('d1', 2, 'a')];

  beforeEach(() => {
    messenger.reply = inPages([group('g1', 25), direct('d1', 'b', 2), group('quiet', 7)], events, 10);
  });

  test('brings all pages in the order of the messenger, and ends with sync.complete', async () => {
    const connection = new TestConnection();
    const complete = await run(connection, { ref: 'r1', conversations: { quiet: 7 } });
    expect(connection.messages.map(({ id }) => id)).toEqual(events.map((event) => (event as { payload: { id: string } }).payload.id));
    expect(connection.frames.at(-1)).toEqual(complete);
    expect(complete).toEqual({
      type: 'sync.complete',
      ref: 'r1',
      conversations: { g1: 25, d1: 2, quiet: 7 },
      presence: peers,
      has_more: false,
      cursor: '1767225600000-5',
    });
    expect(askedPages().map((request) => request['page'])).toEqual([undefined, '1', '2']);
  });

  test('asks with what the client sent, and with the token of the owners', async () => {
    await run(new TestConnection(), { conversations: { g1: 20, __proto__x: 3 } });
    expect(askedPages()[0]).toEqual({ user_id: 'a', conversations: { g1: 20, __proto__x: 3 } });
    expect(messenger.requests[0]?.headers.authorization).toBe('Bearer secret');
  });

  test('its frames look like live ones, without a cursor', async () => {
    const connection = new TestConnection();
    await run(connection);
    expect(connection.texts[0]).toBe(
      '{"type":"message.new","conversation_id":"g1","message":{"id":"g1.m1","seq":1,"sender_id":"c","sender_name":"Name of c"},' +
        '"conversation":{"type":"group","title":"Title of g1"}}',
    );
    const inDialog = connection.frames.find((frame) => frame['conversation_id'] === 'd1');
    expect(inDialog?.['conversation']).toEqual({ type: 'direct', title: 'Name of b' });
  });

  test('needs no conversation card: the messenger has just given the titles', async () => {
    await run(new TestConnection());
    expect(messenger.requests.every(({ url }) => url === '/internal/sync')).toBe(true);
  });

  test('passes payloads byte for byte', async () => {
    const payload = '{"id":"x","seq":1,"big":123456789012345678901234567890,"f":1.0,"t":"\\ud83d\\u0041"}';
    messenger.reply = () => ({ body: `{"conversations":[],"events":[{"type":"poll.closed","payload":${payload}}]}` });
    const connection = new TestConnection();
    await run(connection);
    expect(connection.texts[0]).toBe(`{"type":"poll.closed","data":${payload}}`);
  });

  test('tells presence whom the user shares dialogs with', async () => {
    await run(new TestConnection());
    expect(learned).toEqual([{ userId: 'a', ids: ['g1', 'd1', 'quiet'], isWhole: true }]);
  });

  test('is counted and timed', async () => {
    await run(new TestConnection());
    await vi.waitFor(async () => expect(await metrics.text()).toContain('gateway_syncs_total{outcome="completed"} 1'), patiently);
    expect(await metrics.text()).toContain('gateway_sync_seconds_count 1');
  });
});

describe('rows without a form', () => {
  const bad = { type: 'message.new', payload: 'a secret' };

  test('are left out, the others come', async () => {
    messenger.reply = () => ({ body: { conversations: [], events: [null, 7, { payload: {} }, { type: 'hello' }, message('g1', 1)] } });
    const connection = new TestConnection();
    expect((await run(connection)).type).toBe('sync.complete');
    expect(connection.messages.map(({ id }) => id)).toEqual(['g1.m1']);
  });

  test('are counted as faults of the messenger and logged once for many, without their content; nobody leaves it alone for them', async () => {
    messenger.reply = () => ({ body: { conversations: [group('g1', 1), 5], events: [bad, message('g1', 1), 7] } });
    for (let i = 0; i < 10; i++) expect((await run(new TestConnection())).type).toBe('sync.complete');
    expect(await metrics.text()).toContain('gateway_owner_faults_total{owner="messenger-sync",reason="malformed"} 30');
    expect(warnings).toEqual([[{ owner: 'messenger-sync', conversations: 1, events: 2 }, 'malformed rows of a sync left out']]);
  });

  test.each([bad, 5, null])('may have been any message: of no dialog more is claimed than what came: %j', async (row) => {
    messenger.reply = () => ({ body: { conversations: [group('g1', 7), group('g2', 3)], events: [message('g1', 6), row] } });
    const complete = await run(new TestConnection(), { conversations: { g1: 5, g2: 3 } });
    expect(complete).toMatchObject({ conversations: { g1: 6, g2: 3 }, has_more: false });
  });

  test('a message behind one that is missing does not stand for it', async () => {
    messenger.reply = () => ({ body: { conversations: [group('g1', 7)], events: [bad, message('g1', 7)] } });
    expect(await run(new TestConnection(), { conversations: { g1: 5 } })).toMatchObject({ conversations: { g1: 5 } });
  });

  test('are not claimed by the end of a sync that goes on after them either; the next sync is whole again', async () => {
    await rebuild({ maxPages: 1 });
    messenger.reply = inPages([group('g1', 6), group('g2', 1)], [bad, message('g2', 1)], 1);
    const connection = new TestConnection();
    expect(await run(connection, { conversations: { g1: 5 } })).toMatchObject({ conversations: { g1: 5 }, has_more: true });
    const goesOn = async (fields: object): Promise<Frame | undefined> => {
      const before = connection.ends.length;
      sync.onSync(connection, syncFrame(fields));
      await vi.waitFor(() => expect(connection.ends).toHaveLength(before + 1), patiently);
      return connection.ends.at(-1);
    };
    expect(await goesOn({ conversations: { g1: 5 }, next: '1' })).toMatchObject({ conversations: { g1: 5, g2: 1 }, has_more: false });
    messenger.reply = inPages([group('g1', 6), group('g2', 1)], [message('g1', 6), message('g2', 1)], 1);
    expect(await goesOn({ conversations: { g1: 5 } })).toMatchObject({ conversations: { g1: 6 }, has_more: true });
    expect(await goesOn({ conversations: { g1: 5 }, next: '1' })).toEqual(
      expect.objectContaining({ conversations: { g1: 6, g2: 1 }, has_more: false }),
    );
  });

  test('among the dialogs: presence does not take the others for all of them', async () => {
    messenger.reply = () => ({ body: { conversations: [group('g1', 0), { conversation_id: 'd1' }], events: [] } });
    await run(new TestConnection());
    expect(learned).toEqual([{ userId: 'a', ids: ['g1'], isWhole: false }]);
  });
});

describe('titles', () => {
  test('what the messenger calls a direct dialog helps out when the card of the other one is not to be had', async () => {
    userService.reply = () => ({ status: 500 });
    messenger.reply = () => ({ body: { conversations: [{ ...direct('d1', 'b', 1), title: 'Bob' }], events: [message('d1', 1, 'b')] } });
    const connection = new TestConnection();
    await run(connection);
    expect(connection.frames[0]).toMatchObject({ conversation: { type: 'direct', title: 'Bob' }, stale: true });
  });

  test('a direct dialog has the name on the card of the other one, as it has live, whatever the messenger calls it', async () => {
    messenger.reply = () => ({ body: { conversations: [{ ...direct('d1', 'b', 1), title: 'Bob' }], events: [message('d1', 1, 'c')] } });
    const connection = new TestConnection();
    await run(connection);
    expect(connection.frames[0]?.['conversation']).toEqual({ type: 'direct', title: 'Name of b' });
  });

  test('a dialog that the messenger names without a title, or without the other one, is titled by its card', async () => {
    const cards: Record<string, object> = {
      '/internal/conversations/g1/card': { conversation_id: 'g1', type: 'group', title: 'Team', participants: ['a', 'c'] },
      '/internal/conversations/d1/card': { conversation_id: 'd1', type: 'direct', participants: ['a', 'b'] },
    };
    const untitled = (id: string, type: string): object => ({ conversation_id: id, type, last_seq: 1 });
    messenger.reply = ({ url }) => {
      const body = url === '/internal/sync' ? undefined : cards[url];
      if (body !== undefined) return { body };
      return { body: { conversations: [untitled('g1', 'group'), untitled('d1', 'direct')], events: [message('g1', 1), message('d1', 1)] } };
    };
    const connection = new TestConnection();
    await run(connection);
    expect(connection.frames.slice(0, 2).map((frame) => [frame['conversation'], frame['stale']])).toEqual([
      [{ type: 'group', title: 'Team' }, undefined],
      [{ type: 'direct', title: 'Name of b' }, undefined],
    ]);
  });

  test('a dialog that the messenger does not name has its card', async () => {
    messenger.reply = ({ url }) =>
      url === '/internal/sync'
        ? { body: { conversations: [], events: [message('g9', 1)] } }
        : { body: { conversation_id: 'g9', type: 'group', title: 'From the card', avatar_url: 'x', participants: ['a'] } };
    const connection = new TestConnection();
    await run(connection);
    expect(connection.frames[0]?.['conversation']).toEqual({ type: 'group', title: 'From the card', avatar_url: 'x' });
    messenger.reply = () => ({ body: { conversations: [group('g9', 2)], events: [message('g9', 2)] } });
    const another = new TestConnection();
    await run(another);
    // The title as just given; the picture from the card that happens to be there.
    expect(another.frames[0]?.['conversation']).toEqual({ type: 'group', title: 'Title of g9', avatar_url: 'x' });
  });
});

describe('changes to older messages', () => {
  beforeEach(() => {
    messenger.reply = () => ({ body: { conversations: [], events: [] } });
  });

  test.each<[string, string | undefined, StreamId | undefined, unknown]>([
    ["the frame's cursor less a minute", '1700000060000-7', '1600000000000-0' as StreamId, 1_700_000_000_000],
    ["else the handshake's", undefined, '1600000060000-0' as StreamId, 1_600_000_000_000],
    ["the handshake's when the frame's is none", 'garbage', '1600000060000-0' as StreamId, 1_600_000_000_000],
    ['never below zero', '0-0', undefined, 0],
    ['left out without either', undefined, undefined, undefined],
  ])('since: %s', async (_, inFrame, ofHandshake, since) => {
    const connection = new TestConnection();
    connection.cursor = ofHandshake;
    await run(connection, inFrame === undefined ? {} : { cursor: inFrame });
    expect(askedPages()[0]?.['since_ms']).toBe(since);
  });

  test('a cursor from the future asks from now', async () => {
    await run(new TestConnection(), { cursor: '18446744073709551615-0' });
    expect(askedPages()[0]?.['since_ms']).toBeLessThanOrEqual(Date.now() - 60_000);
  });
});

describe('the cursor of sync.complete', () => {
  test('was taken before the messenger was asked', async () => {
    const connection = new TestConnection();
    messenger.reply = () => {
      connection.assuredCursor = '1767225600009-0' as StreamId;
      return { body: { conversations: [], events: [] } };
    };
    expect((await run(connection))['cursor']).toBe('1767225600000-5');
  });

  test('is null in pub/sub mode', async () => {
    const connection = new TestConnection();
    connection.assuredCursor = null;
    messenger.reply = () => ({ body: { conversations: [], events: [] } });
    expect((await run(connection))['cursor']).toBeNull();
  });
});

describe('more pages than one sync follows', () => {
  const events = Array.from({ length: 10 }, (_, i) => message('g1', i + 1));

  beforeEach(async () => {
    await rebuild({ maxPages: 3 });
    messenger.reply = inPages([group('g1', 10), group('g2', 4)], events, 2);
  });

  test('has_more: the token is handed through, and only what was sent is claimed', async () => {
    const complete = await run(new TestConnection(), { conversations: { g2: 4 } });
    expect(complete).toMatchObject({ has_more: true, next: '3', conversations: { g1: 6, g2: 4 } });
    expect(learned[0]?.isWhole).toBe(false);
  });

  test('the client goes on with the token, and gets the rest', async () => {
    const connection = new TestConnection();
    const complete = await run(connection, { conversations: undefined, next: '3' });
    expect(askedPages()[0]).toEqual({ user_id: 'a', conversations: {}, page: '3' });
    expect(connection.messages.map(({ seq }) => seq)).toEqual([7, 8, 9, 10]);
    expect(complete).toMatchObject({ has_more: false, conversations: { g1: 10, g2: 4 } });
    expect(complete).not.toHaveProperty('next');
    expect(learned[0]?.isWhole).toBe(false);
  });

  test('the messenger is asked for the rest with the question that the sync began with, also when it fails at first', async () => {
    const connection = new TestConnection();
    await run(connection, { conversations: { g1: 0 }, cursor: '1700000060000-7' });
    const reply = messenger.reply;
    messenger.reply = () => ({ status: 500 });
    sync.onSync(connection, syncFrame({ conversations: undefined, next: '3' }));
    await vi.waitFor(() => expect(connection.ends).toHaveLength(2), patiently);
    messenger.reply = reply;
    sync.onSync(connection, syncFrame({ conversations: undefined, next: '3' }));
    await vi.waitFor(() => expect(connection.ends).toHaveLength(3), patiently);
    expect(connection.ends[2]).toMatchObject({ type: 'sync.complete', has_more: false });
    const question = { user_id: 'a', conversations: { g1: 0 }, since_ms: 1_700_000_000_000 };
    expect(askedPages()).toEqual(
      [undefined, '1', '2', '3', '3', '4'].map((page) => (page === undefined ? question : { ...question, page })),
    );
  });

  test('another token than the one given is handed through with what the client says', async () => {
    const connection = new TestConnection();
    await run(connection, { conversations: { g1: 0 }, cursor: '1700000060000-7' });
    sync.onSync(connection, syncFrame({ conversations: undefined, next: '4' }));
    await vi.waitFor(() => expect(connection.ends).toHaveLength(2), patiently);
    expect(askedPages().at(-1)).toEqual({ user_id: 'a', conversations: {}, page: '4' });
  });

  test('a messenger that pages for ever is asked a bounded number of times', async () => {
    messenger.reply = () => ({ body: { conversations: [], events: [], next_page: 'again' } });
    expect(await run(new TestConnection())).toMatchObject({ has_more: true, next: 'again' });
    expect(messenger.requests).toHaveLength(3);
  });
});

describe('an ill messenger', () => {
  test.each<[string, OwnerReply]>([
    ['answers 500', { status: 500 }],
    ['answers 403', { status: 403 }],
    ['answers 404', { status: 404 }],
    ['resets', { fault: 'reset' }],
    ['is not JSON', { body: '{' }],
    ['is an array', { body: '[]' }],
    ['names dialogs and has no list of events', { body: { conversations: [group('g1', 7)] } }],
    ['never stops', { body: `{"events":[],"x":"${'x'.repeat(9_000_000)}"}` }],
    ['hangs', { fault: 'hang' }],
  ])('%s: sync_unavailable with the ref and a time to come back, and the next sync works', async (_, reply) => {
    await rebuild({ timeoutMs: 300 });
    messenger.reply = () => reply;
    const error = await run(new TestConnection(), { ref: 'r7' });
    expect(error['error']).toMatchObject({ code: 'sync_unavailable', ref: 'r7' });
    const retryAfterMs = (error['error'] as { retry_after_ms: number }).retry_after_ms;
    expect(retryAfterMs).toBeGreaterThanOrEqual(100);
    expect(retryAfterMs).toBeLessThanOrEqual(300);
    await vi.waitFor(async () => expect(await metrics.text()).toContain('gateway_syncs_total{outcome="unavailable"} 1'), patiently);
    messenger.reply = () => ({ body: { conversations: [], events: [] } });
    expect((await run(new TestConnection())).type).toBe('sync.complete');
  });

  test('a fault on a later page: what came is the client’s, and the end is an error', async () => {
    const healthy = inPages(
      [group('g1', 4)],
      [1, 2, 3, 4].map((seq) => message('g1', seq)),
      2,
    );
    messenger.reply = (request) => (asked(request)['page'] === undefined ? healthy(request) : { status: 500 });
    const connection = new TestConnection();
    expect((await run(connection)).type).toBe('error');
    expect(connection.messages.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test('refused users do not open the breaker for others', async () => {
    messenger.reply = () => ({ status: 403 });
    for (let i = 0; i < 10; i++) await run(new TestConnection());
    messenger.reply = () => ({ body: { conversations: [], events: [] } });
    expect((await run(new TestConnection())).type).toBe('sync.complete');
  });

  test('after five faults syncs are refused at once, and one is let through when the pause is over', async () => {
    messenger.reply = () => ({ status: 500 });
    for (let i = 0; i < 5; i++) await run(new TestConnection());
    const before = messenger.requests.length;
    expect((await run(new TestConnection())).type).toBe('error');
    expect(messenger.requests).toHaveLength(before);
    messenger.reply = () => ({ body: { conversations: [], events: [] } });
    await vi.waitFor(async () => expect((await run(new TestConnection())).type).toBe('sync.complete'), { ...patiently, interval: 20 });
  });
});

describe('one at a time', () => {
  test('a second sync on the connection is refused with its ref, the first goes on; another connection is not concerned', async () => {
    messenger.reply = () => ({ delayMs: 30, body: { conversations: [], events: [] } });
    const connection = new TestConnection();
    const other = new TestConnection();
    sync.onSync(connection, syncFrame({ ref: 'first' }));
    sync.onSync(connection, syncFrame({ ref: 'second' }));
    sync.onSync(other, syncFrame());
    expect(connection.end?.['error']).toMatchObject({ code: 'sync_in_progress', ref: 'second' });
    await vi.waitFor(() => expect(connection.frames.at(-1)).toMatchObject({ type: 'sync.complete', ref: 'first' }), patiently);
    expect((await other.ended()).type).toBe('sync.complete');
    sync.onSync(connection, syncFrame({ ref: 'third' }));
    await vi.waitFor(() => expect(connection.frames.at(-1)).toMatchObject({ type: 'sync.complete', ref: 'third' }), patiently);
  });
});

describe('a socket that is slow', () => {
  beforeEach(() => {
    messenger.reply = inPages(
      [group('g1', 30)],
      Array.from({ length: 30 }, (_, i) => message('g1', i + 1)),
      10,
    );
  });

  test('is waited for, loses nothing, and is not asked more pages of than it takes', async () => {
    const connection = new TestConnection();
    connection.room = 4;
    sync.onSync(connection, syncFrame());
    await vi.waitFor(() => expect(connection.texts).toHaveLength(4), patiently);
    expect(askedPages()).toHaveLength(1);
    for (let taken = 4; taken < 30; taken += 4) {
      connection.makeRoom(4);
      await vi.waitFor(() => expect(connection.messages).toHaveLength(Math.min(30, taken + 4)), patiently);
    }
    expect((await connection.ended()).type).toBe('sync.complete');
    expect(connection.messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
  });

  test('does not keep others from the messenger while it is waited for', async () => {
    await rebuild({ concurrency: 1 });
    const slow = new TestConnection();
    slow.room = 1;
    sync.onSync(slow, syncFrame());
    await vi.waitFor(() => expect(slow.texts).toHaveLength(1), patiently);
    expect((await run(new TestConnection())).type).toBe('sync.complete');
  });

  test('a frame that does not fit although there is said to be room is tried again, not spun on', async () => {
    const connection = new TestConnection();
    const fullUntilMs = performance.now() + 100;
    const write = connection.writeSynced.bind(connection);
    let refusals = 0;
    connection.writeSynced = (frame) => {
      if (performance.now() >= fullUntilMs) return write(frame);
      refusals++;
      return 'full';
    };
    expect((await run(connection)).type).toBe('sync.complete');
    expect(connection.messages).toHaveLength(30);
    expect(refusals).toBeLessThan(10);
  });

  test('a page of thousands gives others their turn', async () => {
    messenger.reply = () => ({ body: { conversations: [], events: Array.from({ length: 1000 }, () => ({ type: 'poll.closed' })) } });
    const connection = new TestConnection();
    const seenByOthers: number[] = [];
    const look = (): void => {
      seenByOthers.push(connection.texts.length);
      if (connection.end === undefined) setImmediate(look);
    };
    look();
    await run(connection);
    expect(new Set(seenByOthers.filter((count) => count > 0 && count < 1000)).size).toBeGreaterThan(5);
  });
});

describe('a connection that closes', () => {
  test.each(['while the messenger answers', 'while it waits for room'])('%s: its sync ends and writes nothing more', async (when) => {
    const isWaitingForRoom = when === 'while it waits for room';
    messenger.reply = isWaitingForRoom ? inPages([group('g1', 3)], [message('g1', 1), message('g1', 2)], 10) : () => ({ fault: 'hang' });
    const connection = new TestConnection();
    connection.room = isWaitingForRoom ? 1 : 0;
    sync.onSync(connection, syncFrame());
    await vi.waitFor(() => expect(isWaitingForRoom ? connection.texts.length : messenger.requests.length).toBe(1), patiently);
    const written = connection.texts.length;
    connection.close();
    await vi.waitFor(async () => expect(await metrics.text()).toContain('gateway_syncs_total{outcome="aborted"} 1'), patiently);
    expect(connection.texts).toHaveLength(written);
  });

  test('frees its place at once, in the queue and before the messenger', async () => {
    await rebuild({ concurrency: 1, queue: 1, timeoutMs: 60_000 });
    messenger.reply = () => ({ fault: 'hang' });
    const first = new TestConnection();
    const second = new TestConnection();
    sync.onSync(first, syncFrame());
    await vi.waitFor(() => expect(messenger.requests).toHaveLength(1), patiently);
    sync.onSync(second, syncFrame());
    const third = new TestConnection();
    expect((await run(third)).type).toBe('error');
    second.close();
    messenger.reply = () => ({ body: { conversations: [], events: [] } });
    const fourth = new TestConnection();
    sync.onSync(fourth, syncFrame());
    first.close();
    expect((await fourth.ended()).type).toBe('sync.complete');
    expect(messenger.requests).toHaveLength(2);
  });
});

describe('many at once', () => {
  test('2,000 syncs: the messenger sees at most the configured concurrency, and every one completes', async () => {
    await rebuild({ concurrency: 8 });
    messenger.reply = () => ({ delayMs: 2, body: { conversations: [group('g1', 2)], events: [message('g1', 1), message('g1', 2)] } });
    const connections = Array.from({ length: 2000 }, (_, i) => new TestConnection(`user${i}`));
    for (const connection of connections) sync.onSync(connection, syncFrame());
    await vi.waitFor(() => expect(connections.every(({ texts }) => texts.length === 3)).toBe(true), { timeout: 80_000, interval: 50 });
    expect(connections.every(({ end }) => end?.type === 'sync.complete')).toBe(true);
    expect(messenger.maxInFlight).toBe(8);
    expect(askedPages()).toHaveLength(2000);
  }, 90_000);

  test('over the queue: refused at once, told when to come back, and the messenger is not blamed', async () => {
    await rebuild({ concurrency: 1, queue: 2 });
    messenger.reply = () => ({ delayMs: 30, body: { conversations: [], events: [] } });
    const connections = Array.from({ length: 10 }, () => new TestConnection());
    for (const connection of connections) sync.onSync(connection, syncFrame());
    const ends = await Promise.all(connections.map((connection) => connection.ended()));
    expect(ends.map(({ type }) => type)).toEqual([...Array(3).fill('sync.complete'), ...Array(7).fill('error')]);
    expect(connections.at(-1)?.errorCode).toBe('sync_unavailable');
    expect(await metrics.text()).toContain('gateway_syncs_total{outcome="overloaded"} 7');
    expect(await metrics.text()).toContain('gateway_owner_breaker_open{owner="messenger-sync"} 0');
  });

  test('a sync that has begun gets its next page before those that wait', async () => {
    await rebuild({ concurrency: 1 });
    const pages = inPages([group('g1', 2)], [message('g1', 1), message('g1', 2)], 1);
    messenger.reply = (request) => ({ ...pages(request), delayMs: 20 });
    await run(new TestConnection('first')); // its cards are hot from here on
    const connections = Array.from({ length: 5 }, (_, i) => new TestConnection(`user${i}`));
    for (const connection of connections) sync.onSync(connection, syncFrame());
    await Promise.all(connections.map((connection) => connection.ended()));
    // The second page is asked for after the slot went to the next in line, and then comes first.
    const order = askedPages().map((request) => `${request['user_id'] as string}/${(request['page'] as string | undefined) ?? '0'}`);
    expect(order.indexOf('user0/1')).toBeLessThan(order.indexOf('user2/0'));
    expect(order.indexOf('user1/1')).toBeLessThan(order.indexOf('user3/0'));
  });
});

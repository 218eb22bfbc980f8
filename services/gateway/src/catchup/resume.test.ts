import { compareStreamIds, type ConversationId, type StreamId, type UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics, silentLogger } from '@event-gateway/runtime';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { greetingConnection, testContext } from '../../test/connections.js';
import { Fanout } from '../fanout/fanout.js';
import { FanoutMetrics } from '../fanout/fanout-metrics.js';
import type { LoadableCards } from '../frames/frame-cards.js';
import { Hub } from '../hub/hub.js';
import type { RecentEvent } from '../tail/event-segment.js';
import { RecentEvents } from '../tail/recent-events.js';
import { Resume, type StreamHistory } from './resume.js';
import { ResumeMetrics } from './resume-metrics.js';
import { TailScan } from './tail-scan.js';

const id = (n: number): StreamId => `${n}-0` as StreamId;

/** Cards that are cold until the test says so. */
class ColdCards implements LoadableCards {
  #loads: (() => void)[] = [];
  isHot = true;
  user = () => 'absent' as const;
  conversation = () => 'absent' as const;
  deadline = () => 0;
  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>): Promise<void> | undefined {
    if (this.isHot || ([...users].length === 0 && [...conversations].length === 0)) return undefined;
    return new Promise((resolve) => this.#loads.push(resolve));
  }
  arrive(): void {
    for (const resolve of this.#loads.splice(0)) resolve();
  }
  get waiting(): number {
    return this.#loads.length;
  }
}

function replica({ history = {} as Partial<StreamHistory>, maxBytes = 1e6, tailBytes = 1e7 } = {}) {
  const context = testContext(maxBytes);
  const hub = new Hub();
  const cards = new ColdCards();
  const tail = new RecentEvents(new FakeClock(), { maxBytes: tailBytes, maxAgeMs: 1e9 });
  const metrics = new Metrics();
  const fanout = new Fanout(
    {
      hub,
      tail,
      cards,
      invalidation: { onEvent: () => undefined },
      deadLetters: { bury: () => Promise.resolve() },
      metrics: new FanoutMetrics(metrics),
      onDataLost: () => undefined,
      clock: context.clock,
      logger: silentLogger,
    },
    { maxEntryBytes: 1e6 },
  );
  context.handledId = () => fanout.handled.id;
  fanout.startAt(id(0));
  const snapshots: string[] = [];
  const noHistory: StreamHistory = {
    isFromLostEpoch: () => false,
    lastId: () => Promise.resolve(undefined),
    walk: () => Promise.resolve(undefined),
  };
  const resume = new Resume(
    {
      tail,
      scan: new TailScan(tail, context.clock),
      walk: fanout,
      history: { ...noHistory, ...history },
      cards,
      presence: { sendSnapshot: (connection) => snapshots.push(connection.id) },
      metrics: new ResumeMetrics(metrics),
      clock: context.clock,
      logger: silentLogger,
    },
    { replicaId: 'r', heartbeatMs: 1000, isPubsub: false },
  );
  const open = (userId: string, cursor?: string) => {
    const opened = greetingConnection(context, userId);
    hub.add(opened.connection);
    return { ...opened, done: resume.begin(opened.connection, cursor) };
  };
  const entry = (n: number, users: string[]) => ({
    id: id(n),
    fields: [
      Buffer.from('recipients'),
      Buffer.from(JSON.stringify(users)),
      Buffer.from('envelope'),
      Buffer.from(JSON.stringify({ type: 'message.new', payload: { sender_id: 's', n } })),
    ],
  });
  return { fanout, tail, cards, open, entry, snapshots, context };
}

const cursors = (socket: { sent: Record<string, unknown>[] }): unknown[] =>
  socket.sent.filter(({ type }) => type === 'message.new').map(({ cursor }) => cursor);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a cursor within the tail is resumed: hello with that cursor, what was missed, a presence snapshot', async () => {
  const { fanout, open, entry, snapshots } = replica();
  await fanout.handle([entry(1, ['a']), entry(2, ['a', 'b']), entry(3, ['b']), entry(4, ['a'])]);
  const { connection, socket, done } = open('a', id(1));
  await done;
  expect(socket.sent[0]).toMatchObject({ type: 'hello', resumed: true, cursor: id(1) });
  expect(cursors(socket)).toEqual([id(2), id(4)]);
  expect(snapshots).toEqual([connection.id]);
  await fanout.handle([entry(5, ['a'])]);
  expect(cursors(socket)).toEqual([id(2), id(4), id(5)]);
});

test('without a cursor a connection starts at what the replica has handled', async () => {
  const { fanout, open, entry } = replica();
  await fanout.handle([entry(1, ['a'])]);
  const { socket, done } = open('a');
  await done;
  expect(socket.sent).toMatchObject([{ type: 'hello', resumed: false, cursor: id(1) }]);
});

test.each(['', 'garbage', '5', '-1-0', '99999999999999999999999-0', '50-0'])(
  'the cursor %j cannot be proven: sync.required, and live goes on',
  async (cursor) => {
    const { fanout, open, entry } = replica();
    await fanout.handle([entry(1, ['a'])]);
    const { socket, done } = open('a', cursor);
    await done;
    await fanout.handle([entry(2, ['a'])]);
    expect(socket.sent).toMatchObject([
      { type: 'hello', resumed: false, cursor: id(1) },
      { type: 'sync.required', reason: 'cursor_unknown', cursor: id(1) },
      { type: 'message.new', cursor: id(2) },
    ]);
  },
);

// A replica that was stopped wakes up with clients that others have served meanwhile. While it asks where the stream ends, its reader
// finds the hole behind what it had read last, and that cursor then lies before the hole, with nobody left to tell.
test('a cursor that was ahead when the stream was asked, and lies before a hole when it answers, is not resumed', async () => {
  let answer: (lastId: StreamId) => void = () => undefined;
  const { fanout, open, entry } = replica({ history: { lastId: () => new Promise((resolve) => (answer = resolve)) } });
  await fanout.handle([entry(1, ['a'])]);
  const { socket, done } = open('a', id(5));
  fanout.gap({ reason: 'trimmed', cursor: id(9), isDataLost: false });
  await fanout.handle([entry(10, ['a'])]);
  answer(id(10));
  await done;
  expect(socket.sent).toMatchObject([
    { type: 'hello', resumed: false },
    { type: 'sync.required', reason: 'cursor_unknown', cursor: id(10) },
  ]);
});

test('a cursor that was ahead and has left the tail when the stream answers is served from the stream', async () => {
  let answer: (lastId: StreamId) => void = () => undefined;
  const history: Partial<StreamHistory> = {
    lastId: () => new Promise((resolve) => (answer = resolve)),
    walk: (cursor, _userId, until) => Promise.resolve({ events: [], upTo: until() > cursor ? until() : cursor }),
  };
  const { fanout, tail, open, entry } = replica({ history });
  const { socket, done } = open('a', id(5));
  await fanout.handle([entry(8, ['b']), entry(9, ['a'])]);
  tail.setLowerBound(id(8));
  answer(id(9));
  await done;
  expect(socket.sent).toMatchObject([{ type: 'hello', resumed: true, cursor: id(5) }, { cursor: id(9) }]);
});

describe('a fault during a resume costs the client a sync and nothing else', () => {
  const refused = () => Promise.reject(new Error('ERR no such key'));

  test.each([
    ['the question where the stream ends', { lastId: refused }, id(50)],
    ['the walk over the stream', { walk: refused }, id(5)],
  ])('%s fails: cursor_unknown, then live', async (_, history, cursor) => {
    const { fanout, open, entry, snapshots } = replica({ history });
    fanout.startAt(id(10));
    const { socket, done } = open('a', cursor);
    await done;
    await fanout.handle([entry(11, ['a'])]);
    expect(socket.sent).toMatchObject([
      { type: 'hello', resumed: false, cursor: id(10) },
      { type: 'sync.required', reason: 'cursor_unknown', cursor: id(10) },
      { type: 'message.new', cursor: id(11) },
    ]);
    expect(snapshots).toEqual([]);
  });

  test('in the middle of a replay', async () => {
    const { fanout, open, entry, cards } = replica();
    await fanout.handle([entry(1, ['a']), entry(2, ['a'])]);
    cards.warm = () => Promise.reject(new Error('boom'));
    const { socket, done } = open('a', id(0));
    await done;
    cards.warm = () => undefined;
    await fanout.handle([entry(3, ['a'])]);
    expect(socket.sent).toMatchObject([
      { type: 'hello', resumed: true, cursor: id(0) },
      { type: 'sync.required', reason: 'cursor_unknown', cursor: id(2) },
      { type: 'message.new', cursor: id(3) },
    ]);
  });

  test('after the connection has gone live nothing is missing, and nothing is told', async () => {
    const { fanout, open, entry, snapshots } = replica();
    snapshots.push = () => {
      throw new Error('boom');
    };
    await fanout.handle([entry(1, ['a'])]);
    const { socket, done } = open('a', id(0));
    await done;
    expect(socket.types()).toEqual(['hello', 'message.new']);
  });

  test('of a connection that has closed meanwhile', async () => {
    let fail: () => void = () => undefined;
    const history = { walk: () => new Promise<never>((_, reject) => (fail = () => reject(new Error('boom')))) };
    const { fanout, open } = replica({ history });
    fanout.startAt(id(10));
    const { connection, socket, done } = open('a', id(5));
    connection.close('heartbeat');
    fail();
    await done;
    expect(socket.sent).toEqual([]);
  });
});

test('a cursor ahead of this replica but within the stream is good, and nothing up to it comes again', async () => {
  const { fanout, open, entry } = replica({ history: { lastId: () => Promise.resolve(id(7)) } });
  await fanout.handle([entry(1, ['a'])]);
  const { socket, done } = open('a', id(5));
  await done;
  await fanout.handle([entry(4, ['a']), entry(5, ['a']), entry(6, ['a'])]);
  expect(socket.sent).toMatchObject([{ resumed: true, cursor: id(5) }, { cursor: id(6) }]);
});

test('a cursor from before a loss of data is never resumed', async () => {
  const { fanout, open, entry } = replica({ history: { isFromLostEpoch: (cursor) => cursor === id(9) } });
  await fanout.handle([entry(1, ['a']), entry(11, ['a'])]);
  const { socket, done } = open('a', id(9));
  await done;
  expect(socket.sent.slice(0, 2)).toMatchObject([{ resumed: false }, { type: 'sync.required', reason: 'cursor_unknown' }]);
});

test('a cursor older than the tail is served from the stream where that has everything', async () => {
  const walked = { events: [] as never[], upTo: id(10) };
  const { fanout, open, entry } = replica({ history: { walk: () => Promise.resolve(walked) } });
  fanout.startAt(id(10));
  await fanout.handle([entry(11, ['a'])]);
  const { socket, done } = open('a', id(3));
  await done;
  expect(socket.sent).toMatchObject([{ resumed: true, cursor: id(3) }, { cursor: id(11) }]);
});

test('events of a batch that still waits for its cards are replayed, once', async () => {
  const { fanout, open, entry, cards } = replica();
  const { socket: bystander } = open('b');
  cards.isHot = false;
  const handling = fanout.handle([entry(1, ['a', 'b']), entry(2, ['a', 'b'])]);
  const { socket, done } = open('a', id(0));
  await turn();
  expect(cards.waiting).toBeGreaterThan(0);
  while (cards.waiting > 0) {
    cards.arrive();
    await turn();
  }
  await Promise.all([handling, done]);
  expect(cursors(socket)).toEqual([id(1), id(2)]);
  expect(cursors(bystander)).toEqual([id(1), id(2)]);
});

test('a replay longer than the budget is pulled by the drain, and live events of that time come in their place', async () => {
  const { fanout, open, entry } = replica({ maxBytes: 1000 });
  await fanout.handle(Array.from({ length: 100 }, (_, i) => entry(i + 1, ['a'])));
  const { connection, socket, done } = open('a', id(0));
  socket.stall();
  await turn();
  await fanout.handle([entry(101, ['a'])]);
  expect(socket.bufferedBytes()).toBeLessThan(1200);
  while (cursors(socket).length < 101) {
    socket.drain();
    connection.onDrain();
    await turn();
  }
  await done;
  await fanout.handle([entry(102, ['a'])]);
  expect(cursors(socket)).toEqual(Array.from({ length: 102 }, (_, i) => id(i + 1)));
});

describe('a replay that the tail runs away from', () => {
  /** A tail of two segments (the smallest there is), and a stream that still has everything. */
  function smallTail({ mayWalk = true, beforeAnswer = () => undefined as unknown } = {}) {
    const kept: RecentEvent[] = [];
    const walks: StreamId[] = [];
    const walk: StreamHistory['walk'] = async (cursor, _userId, until) => {
      walks.push(cursor);
      await turn();
      const events = kept.filter((event) => compareStreamIds(event.id, cursor) > 0 && compareStreamIds(event.id, until()) <= 0);
      beforeAnswer();
      return mayWalk ? { events, upTo: until() } : undefined;
    };
    const rig = replica({ history: { walk }, tailBytes: 1, maxBytes: 1000 });
    let count = 0;
    const publish = async (entries: number): Promise<void> => {
      const batch = Array.from({ length: entries }, () => rig.entry(++count, ['a']));
      for (const { id: entryId, fields } of batch)
        kept.push({ id: entryId, recipients: fields[1] ?? Buffer.of(), envelope: fields[3] ?? Buffer.of() });
      await rig.fanout.handle(batch);
    };
    /** As many as push everything that was there out of the tail. */
    const turnOver = async (): Promise<void> => {
      const before = rig.tail.lastPosition;
      while (rig.tail.firstPosition <= before) await publish(200);
    };
    /** In the middle of its replay. */
    const openStalled = async (): Promise<ReturnType<typeof rig.open>> => {
      const opened = rig.open('a', id(0));
      opened.socket.stall();
      await turn();
      return opened;
    };
    const pull = async ({ socket, connection, done }: ReturnType<typeof rig.open>): Promise<void> => {
      let isDone = false;
      void done.then(() => {
        isDone = true;
      });
      while (!isDone) {
        socket.drain();
        connection.onDrain();
        await turn();
      }
    };
    const everyId = (): StreamId[] => Array.from({ length: count }, (_, i) => id(i + 1));
    return { ...rig, walks, publish, turnOver, openStalled, pull, everyId };
  }

  // A tail of 64 KB is gone in a moment; whoever came back in that moment was sent to the messenger, although the stream had it all.
  test('goes on from the stream, without a hole and without a sync', async () => {
    const { openStalled, publish, turnOver, pull, everyId, walks } = smallTail();
    await publish(50);
    const opened = await openStalled();
    await turnOver();
    await pull(opened);
    expect(walks).toEqual([id(50)]);
    await publish(1);
    expect(opened.socket.types()).not.toContain('sync.required');
    expect(cursors(opened.socket)).toEqual(everyId());
  });

  test('is told to sync when the stream cannot be proven to have it', async () => {
    const { openStalled, publish, turnOver, pull } = smallTail({ mayWalk: false });
    await publish(50);
    const opened = await openStalled();
    await turnOver();
    await pull(opened);
    expect(opened.socket.sent.at(-1)).toMatchObject({ type: 'sync.required', reason: 'slow_consumer' });
  });

  test('is told of a hole that comes up while the stream is asked', async () => {
    const rig = smallTail({ beforeAnswer: () => rig.fanout.gap({ reason: 'trimmed', cursor: id(1_000_000), isDataLost: false }) });
    await rig.publish(50);
    const opened = await rig.openStalled();
    await rig.turnOver();
    await rig.pull(opened);
    expect(opened.socket.sent.at(-1)).toMatchObject({ type: 'sync.required', reason: 'trimmed', cursor: id(1_000_000) });
  });

  test('is told to sync when it happens again and again: a walk is dear', async () => {
    let answers = 0;
    const rig = smallTail({
      beforeAnswer: () => {
        answers++;
        opened.socket.stall();
      },
    });
    await rig.publish(50);
    const opened = await rig.openStalled();
    let isDone = false;
    void opened.done.then(() => {
      isDone = true;
    });
    while (!isDone) {
      await rig.turnOver();
      const answered = answers;
      do {
        opened.socket.drain();
        opened.connection.onDrain();
        await rig.context.clock.advance(50); // long passes over the tail are spaced
        await turn();
      } while (!isDone && answers === answered);
    }
    expect(rig.walks).toHaveLength(3);
    expect(opened.socket.sent.at(-1)).toMatchObject({ type: 'sync.required', reason: 'slow_consumer' });
  });
});

test.each(['gap', 'trimmed'] as const)(
  'a hole in the stream (%s) during a replay is told, and what lies behind it is live',
  async (reason) => {
    const { fanout, open, entry, cards } = replica();
    await fanout.handle([entry(1, ['a']), entry(2, ['a'])]);
    cards.isHot = false;
    const { socket, done } = open('a', id(0));
    await turn();
    fanout.gap({ reason, cursor: id(50), isDataLost: reason === 'gap' });
    cards.isHot = true;
    cards.arrive();
    await done;
    await fanout.handle([entry(51, ['a'])]);
    const after = socket.sent.slice(socket.types().indexOf('sync.required'));
    expect(after).toMatchObject([{ type: 'sync.required', reason, cursor: id(50) }, { cursor: id(51) }]);
  },
);

test('every connection that is live is told of a hole before the first frame from behind it', async () => {
  const { fanout, open, entry } = replica();
  const { socket, done } = open('a');
  await done;
  fanout.gap({ reason: 'trimmed', cursor: id(9), isDataLost: false });
  await fanout.handle([entry(10, ['a'])]);
  expect(socket.sent.slice(1)).toMatchObject([{ type: 'sync.required', reason: 'trimmed', cursor: id(9) }, { cursor: id(10) }]);
});

test('no seam: connections that come at any moment of a burst get every event exactly once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ batch: fc.integer({ min: 0, max: 5 }), cold: fc.boolean(), opens: fc.boolean(), back: fc.nat(20), turns: fc.nat(2) }),
        { minLength: 1, maxLength: 25 },
      ),
      async (steps) => {
        const { fanout, open, entry, cards } = replica({ maxBytes: 400 });
        const opened: {
          from: number;
          socket: ReturnType<typeof open>['socket'];
          done: Promise<void>;
          connection: ReturnType<typeof open>['connection'];
        }[] = [];
        let published = 0;
        let read = 0;
        let walk = Promise.resolve();
        const settle = async (): Promise<void> => {
          cards.arrive();
          for (const { socket, connection } of opened) {
            socket.drain();
            if (connection.isOpen) connection.onDrain();
          }
          await turn();
        };
        for (const { batch, cold, opens, back, turns } of steps) {
          cards.isHot = !cold;
          const entries = Array.from({ length: batch }, () => entry(++published, ['a']));
          walk = walk.then(async () => {
            if (entries.length === 0) return;
            const handling = fanout.handle(entries);
            read += entries.length;
            await handling;
          });
          if (opens) {
            const from = Math.max(0, read - back);
            opened.push({ from, ...open('a', id(from)) });
            if (back % 3 === 0) opened.at(-1)?.socket.stall();
          }
          for (let i = 0; i < turns; i++) await settle();
        }
        let isDone = false;
        const all = Promise.all([walk, ...opened.map(({ done }) => done)]).then(() => {
          isDone = true;
        });
        while (!isDone) await settle();
        await all;
        for (const { from, socket } of opened) {
          expect(socket.sent[0]).toMatchObject({ type: 'hello', resumed: true });
          if (socket.types().includes('sync.required')) continue; // told: a budget of 400 bytes is easily missed
          expect(cursors(socket)).toEqual(Array.from({ length: published - from }, (_, i) => id(from + 1 + i)));
        }
      },
    ),
    { numRuns: 300 },
  );
});

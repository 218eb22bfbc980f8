import type { Envelope, MalformedReason, StreamId, UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics, silentLogger } from '@event-gateway/runtime';
import { expect, test } from 'vitest';
import { liveConnection, testContext } from '../../test/connections.js';
import type { LoadableCards } from '../frames/frame-cards.js';
import { Hub } from '../hub/hub.js';
import { RecentEvents } from '../tail/recent-events.js';
import type { StreamEntry } from './event-source.js';
import { Fanout } from './fanout.js';
import { FanoutMetrics } from './fanout-metrics.js';

const hotCards: LoadableCards = { user: () => 'absent', conversation: () => 'absent', deadline: () => 0, warm: () => undefined };

function replica({ cards = hotCards, maxEntryBytes = 4096, invalidation = { onEvent: (_: Envelope): void => undefined } } = {}) {
  const context = testContext(1e6);
  const hub = new Hub();
  const tail = new RecentEvents(new FakeClock(), { maxBytes: 1e7, maxAgeMs: 1e9 });
  const metrics = new Metrics();
  let losses = 0;
  const letters: { id: string; reason: MalformedReason }[] = [];
  const deadLetters = {
    bury: (id: string, reason: MalformedReason): Promise<void> => {
      letters.push({ id, reason });
      return Promise.resolve();
    },
  };
  const fanout = new Fanout(
    {
      hub,
      tail,
      cards,
      invalidation,
      deadLetters,
      metrics: new FanoutMetrics(metrics),
      onDataLost: () => {
        losses++;
      },
      clock: context.clock,
      logger: silentLogger,
    },
    { maxEntryBytes },
  );
  fanout.startAt('0-0' as StreamId);
  const open = (userId: string, livePosition = 0) => {
    const opened = liveConnection(context, userId, livePosition);
    hub.add(opened.connection);
    return opened;
  };
  const counted = async (line: string): Promise<number> =>
    Number(
      (await metrics.text())
        .split('\n')
        .find((text) => text.startsWith(`${line} `))
        ?.split(' ')[1],
    );
  return { fanout, open, letters, tail, counted, losses: () => losses };
}

let last = 0;
function entry(...fields: (string | Buffer)[]): StreamEntry {
  return { id: `${++last}-0` as StreamId, fields: fields.map((field) => Buffer.from(field)) };
}
const envelope = (more: object = {}): string => JSON.stringify({ type: 'message.new', payload: { id: 'm' }, ...more });
const good = (...users: string[]): StreamEntry => entry('recipients', JSON.stringify(users), 'envelope', envelope());

test('every socket of every recipient gets the frame, nobody else does, and recipients never leave', async () => {
  const { fanout, open } = replica();
  const [a1, a2, b, c] = [open('a'), open('a'), open('b'), open('c')];
  await fanout.handle([good('a', 'b', 'a', 'offline'), entry('event', envelope({ recipients: ['c'] }))]);
  expect([a1, a2, b, c].map(({ socket }) => socket.frames.length)).toEqual([1, 1, 1, 1]);
  expect(a1.socket.frames.join()).not.toContain('recipients');
});

const malformed: readonly (readonly [MalformedReason, ...(string | Buffer)[]])[] = [
  ['no_envelope', 'foo', 'bar'],
  ['no_envelope', 'recipients', '["a"]'],
  ['not_json', 'recipients', '["a"]', 'envelope', '{'],
  ['not_json', 'recipients', '["a"]', 'envelope', ''],
  ['not_object', 'recipients', '["a"]', 'envelope', '[]'],
  ['no_type', 'recipients', '["a"]', 'envelope', '{"type":7}'],
  ['type_reserved', 'recipients', '["a"]', 'envelope', '{"type":"hello"}'],
  ['type_reserved', 'recipients', '["a"]', 'envelope', '{"type":"sync.required"}'],
  ['recipients_missing', 'envelope', '{"type":"x"}'],
  ['recipients_invalid', 'envelope', '{"type":"x","recipients":["a",1]}'],
  ['recipients_invalid', 'recipients', '["a",""]', 'envelope', '{"type":"x"}'],
  ['recipients_invalid', 'recipients', 'oops', 'envelope', '{"type":"x","recipients":["a"]}'],
  ['payload_invalid', 'recipients', '["a"]', 'envelope', '{"type":"message.new","payload":7}'],
  ['invalid_utf8', 'recipients', '["a"]', 'envelope', Buffer.from([0x7b, 0xff, 0x7d])],
  ['invalid_utf8', 'recipients', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), 'envelope', '{"type":"x"}'],
  ['oversized', 'recipients', '["a"]', 'envelope', `{"type":"x","payload":"${'x'.repeat(4096)}"}`],
  ['oversized', 'recipients', `["a","${'x'.repeat(4096)}"]`, 'envelope', '{"type":"x"}'],
];

test.each(malformed)('an entry that is %s is buried with that reason, its neighbours are delivered', async (reason, ...fields) => {
  const { fanout, open, letters, counted } = replica();
  const { socket } = open('a');
  const bad = entry(...fields);
  await fanout.handle([good('a'), bad, good('a')]);
  expect(socket.frames).toHaveLength(2);
  expect(letters).toEqual([{ id: bad.id, reason }]);
  expect(await counted('gateway_stream_entries_total{outcome="malformed"}')).toBe(1);
  expect(await counted('gateway_stream_entries_total{outcome="delivered"}')).toBe(2);
});

test('an entry of exactly the largest size is delivered', async () => {
  const { fanout, open } = replica();
  const { socket } = open('a');
  const frame = '{"type":"x","payload":""}';
  await fanout.handle([entry('recipients', '["a"]', 'envelope', frame.replace('""', `"${'x'.repeat(4096 - frame.length)}"`))]);
  expect(socket.frames).toHaveLength(1);
});

test('the envelope field that counts is the first of envelope, event, data, payload', async () => {
  const { fanout, open } = replica();
  const { socket } = open('a');
  await fanout.handle([
    entry('payload', '{', 'data', '{"type":"x"}', 'recipients', '["a"]'),
    entry('event', '{"type":"y"}', 'data', '{', 'recipients', '["a"]'),
  ]);
  expect(socket.types()).toEqual(['x', 'y']);
});

test('an event for nobody here is counted once, and its envelope is not even read', async () => {
  const { fanout, letters, counted } = replica();
  await fanout.handle([entry('recipients', '["nobody"]', 'envelope', 'not JSON at all')]);
  expect(letters).toEqual([]);
  expect(await counted('gateway_stream_entries_total{outcome="no_recipient"}')).toBe(1);
});

const faultyCards: LoadableCards = {
  ...hotCards,
  user: (id) => {
    if (id === ('boom' as UserId)) throw new Error('boom');
    return 'absent';
  },
};
const unwritable = (...users: string[]): StreamEntry =>
  entry('recipients', JSON.stringify(users), 'envelope', envelope({ payload: { sender_id: 'boom' } }));

// It was an error in the log and a delivered event in the figures: those who were to be sent it never knew.
test('an event that cannot be written is a hole for its recipients, told in its place, and costs neither its neighbours nor others', async () => {
  const { fanout, open, counted } = replica({ cards: faultyCards });
  const [a, b] = [open('a'), open('b')];
  const [before, lost, after] = [good('a', 'b'), unwritable('a'), good('a', 'b')];
  await fanout.handle([before, lost, after]);
  expect(a.socket.types()).toEqual(['message.new', 'sync.required', 'message.new']);
  expect(a.socket.sent.map(({ cursor }) => cursor)).toEqual([before.id, lost.id, after.id]);
  expect(a.socket.sent[1]).toMatchObject({ reason: 'gap' });
  expect(b.socket.types()).toEqual(['message.new', 'message.new']);
  expect(await counted('gateway_stream_entries_total{outcome="delivered"}')).toBe(2);
  expect(await counted('gateway_stream_entries_total{outcome="skipped"}')).toBe(1);
  expect(await counted('gateway_fanout_connections_count')).toBe(2);
  expect(await counted('gateway_delivery_seconds_count')).toBe(2);
});

test('without a stream an event that cannot be written is told as well, with no cursor', async () => {
  const { fanout, open } = replica({ cards: faultyCards });
  const { socket } = open('a', -1);
  await fanout.handle([unwritable('a'), good('a')].map(({ fields }) => ({ id: null, fields })));
  expect(socket.sent).toMatchObject([{ type: 'sync.required', reason: 'gap', cursor: null }, { type: 'message.new' }]);
});

test('a fault over one entry while it is matched does not cost its neighbours, and it is counted once', async () => {
  const { fanout, open, tail, letters, counted } = replica();
  const { socket } = open('a');
  const [before, after, lastOne] = [good('a'), good('a'), good('nobody')];
  const bad = (): StreamEntry => {
    const { id } = good('a');
    return {
      id,
      get fields(): never {
        throw new Error('boom');
      },
    };
  };
  await fanout.handle([before, bad(), after, lastOne]);
  expect(socket.frames).toHaveLength(2);
  expect(letters).toEqual([]);
  for (const [outcome, count] of Object.entries({ delivered: 2, no_recipient: 1, skipped: 1 }))
    expect(await counted(`gateway_stream_entries_total{outcome="${outcome}"}`)).toBe(count);
  const alone = bad();
  await fanout.handle([alone]);
  expect([fanout.handled.id, tail.lastId]).toEqual([alone.id, alone.id]);
});

test('a fault over what one event says about cards does not cost it or its neighbours', async () => {
  const invalidation = {
    onEvent: ({ type }: Envelope): void => {
      if (type === 'x.bad') throw new Error('boom');
    },
  };
  const { fanout, open } = replica({ invalidation });
  const { socket } = open('a');
  await fanout.handle(['x.1', 'x.bad', 'x.2'].map((type) => entry('recipients', '["a"]', 'envelope', JSON.stringify({ type }))));
  expect(socket.types()).toEqual(['x.1', 'x.bad', 'x.2']);
});

test.each([
  [
    'at once',
    () => {
      throw new Error('boom');
    },
  ],
  ['later', () => Promise.reject(new Error('boom'))],
])('events whose cards cannot be warmed, a fault that shows %s, go out without them', async (_, warm) => {
  const { fanout, open } = replica({ cards: { ...hotCards, warm } });
  const { socket } = open('a');
  await fanout.handle([good('a')]);
  expect(socket.frames).toHaveLength(1);
});

test('a fan-out of thousands of sockets gives others their turn, and keeps the order on every socket', async () => {
  const { fanout, open } = replica({ maxEntryBytes: 1e6 });
  const opened = Array.from({ length: 3000 }, (_, i) => open(`u${i}`));
  const users = opened.map(({ connection }) => connection.userId);
  let turns = 0;
  let isWatching = true;
  const watch = (): void => {
    turns++;
    if (isWatching) setImmediate(watch);
  };
  setImmediate(watch);
  await fanout.handle([
    entry('recipients', JSON.stringify(users), 'envelope', '{"type":"x.1"}'),
    entry('recipients', JSON.stringify(users), 'envelope', '{"type":"x.2"}'),
  ]);
  isWatching = false;
  expect(turns).toBeGreaterThanOrEqual(2);
  expect(opened.filter(({ socket }) => socket.types().join() !== 'x.1,x.2')).toEqual([]);
});

test('what a batch has for one socket leaves in one packet, however many frames the batch has', async () => {
  const { fanout, open } = replica({ maxEntryBytes: 1e6 });
  const opened = Array.from({ length: 600 }, (_, i) => open(`u${i}`));
  const users = JSON.stringify(opened.map(({ connection }) => connection.userId));
  await fanout.handle(['x.1', 'x.2', 'x.3'].map((type) => entry('recipients', users, 'envelope', JSON.stringify({ type }))));
  expect(opened.filter(({ socket }) => socket.packets.at(-1)?.length !== 3 || socket.types().join() !== 'x.1,x.2,x.3')).toEqual([]);
});

test('what has been handled moves only when a whole batch is flushed, malformed entries included', async () => {
  const { fanout, tail } = replica();
  const batch = [good('a'), entry('foo', 'bar')];
  const handling = fanout.handle(batch);
  await handling;
  expect(fanout.handled.id).toBe(batch.at(-1)?.id);
  expect(tail.lastId).toBe(batch.at(-1)?.id);
});

// Every loss of the connection, and every full queue, had all leases of the fleet written anew, and "Redis lost presence data" in the log.
test('only a hole that Redis has made by losing data makes what else is kept there doubtful', () => {
  const { fanout, losses } = replica();
  fanout.gap({ reason: 'gap', cursor: null, isDataLost: false });
  fanout.gap({ reason: 'trimmed', cursor: '5-0' as StreamId, isDataLost: false });
  expect(losses()).toBe(0);
  fanout.gap({ reason: 'gap', cursor: '5-0' as StreamId, isDataLost: true });
  expect(losses()).toBe(1);
});

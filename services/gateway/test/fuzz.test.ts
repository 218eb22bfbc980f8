import { CLOSE_CODES, decodeClientFrame, FRAME_ERROR_CODES, MALFORMED_REASONS, type StreamId, type UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics, silentLogger } from '@event-gateway/runtime';
import { expect, test } from 'vitest';
import { Mutator } from '../../../packages/protocol/test/mutator.js';
import type { StreamEntry } from '../src/fanout/event-source.js';
import { Fanout } from '../src/fanout/fanout.js';
import { FanoutMetrics } from '../src/fanout/fanout-metrics.js';
import type { LoadableCards } from '../src/frames/frame-cards.js';
import { Hub } from '../src/hub/hub.js';
import { Inbound } from '../src/inbound/inbound.js';
import type { InboundConnection } from '../src/inbound/inbound-connection.js';
import { InboundMetrics } from '../src/inbound/inbound-metrics.js';
import { RecentEvents } from '../src/tail/recent-events.js';
import { liveConnection, testContext } from './connections.js';
import { FixedCards } from './frame-cards.js';

// Damaged input by the thousand, the same in every run. What is good in it must not suffer for what is not.

const seed = 20_260_101;
const frameCount = 30_000;
const entryCount = 6000;

const goodFrames = [
  '{"type":"ping"}',
  '{"type":"typing","conversation_id":"c1"}',
  '{"type":"sync","conversations":{"c1":42,"__proto__":0},"cursor":"1767225600000-0","ref":"r1"}',
  '{"type":"sync","next":"page-2","ref":"r2","conversations":{}}',
  '{"type":"auth","token":"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"}',
  '{"type":"from.the.future","unknown":[1,{"deep":[null,true,1e5]}]}',
];

test('a mutated frame is read or refused with a code of the contract, never thrown over', () => {
  const mutator = new Mutator(seed);
  const seen = new Map<string, number>();
  for (let n = 0; n < frameCount; n++) {
    const decoded = decodeClientFrame(mutator.mutate(goodFrames), { maxDepth: 32 });
    const outcome = 'error' in decoded ? decoded.error : decoded.type;
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  expect([...seen.keys()].sort()).toEqual(['auth', 'bad_frame', 'bad_json', 'ping', 'sync', 'too_deep', 'typing', 'unknown_type']);
});

test('a connection answers mutated frames with errors and closes of the contract only', async () => {
  const mutator = new Mutator(seed);
  const clock = new FakeClock();
  const told = new Set<string>();
  const closes = new Set<string>();
  const inbound = new Inbound<InboundConnection>(
    {
      clock,
      metrics: new InboundMetrics(new Metrics()),
      typing: { onTyping: () => undefined },
      sync: { onSync: () => undefined },
      auth: { authenticate: async () => ({ status: 401 as const }), renewExpiry: () => undefined },
      pongCursor: () => null,
    },
    { maxFrameBytes: 400, inboundMaxDepth: 32, inboundMaxViolations: 5, inboundFramesPerSecond: 20, inboundBurst: 40 },
  );
  const open = (): InboundConnection & { close(reason: string): void } => {
    let isOpen = true;
    return {
      userId: 'alice' as UserId,
      get isOpen() {
        return isOpen;
      },
      isGreeted: true,
      greeted: () => Promise.resolve(),
      writeControl: (frame) => void told.add(frame.type === 'error' ? frame.error.code : frame.type),
      close: (reason) => {
        isOpen = false;
        closes.add(reason);
      },
    };
  };
  let connection = open();
  for (let n = 0; n < frameCount / 4; n++) {
    if (!connection.isOpen) connection = open();
    inbound.onMessage(connection, mutator.mutate(goodFrames), mutator.below(50) === 0);
    await clock.advance(mutator.below(40));
  }
  const answers: readonly string[] = [...FRAME_ERROR_CODES, 'pong', 'auth.ok'];
  expect([...told].filter((code) => !answers.includes(code))).toEqual([]);
  expect(told.size).toBeGreaterThan(6);
  expect([...closes].filter((reason) => !Object.hasOwn(CLOSE_CODES, reason))).toEqual([]);
  expect([...closes]).toEqual(expect.arrayContaining(['protocol_violation', 'token_refused', 'too_big']));
});

/** Some of them are good only nearly: what the mutator would seldom come upon. */
const goodFields: readonly (readonly string[])[] = [
  [
    'recipients',
    '["alice","bob"]',
    'envelope',
    '{"type":"message.new","conversation_id":"c1","event_id":"e1","payload":{"id":"m1","seq":7,"sender_id":"bob","text":"Hi","n":12345678901234567890}}',
  ],
  ['recipients', '["alice"]', 'envelope', '{"type":"message.edited","conversation_id":"d1","payload":{"id":"m1","sender_name":"x"}}'],
  ['event', '{"type":"order.paid","recipients":["alice","nobody"],"payload":[1.0,{"__proto__":2}]}'],
  ['data', '{"type":"member.changed","conversation_id":"c1","recipients":[],"payload":{},"occurred_at":"2026-01-01T00:00:00Z"}'],
  ['recipients', '["alice"]', 'envelope', '{"type":"message.new","conversation_id":"c1","payload":["no object"]}'],
  ['recipients', '["alice"]', 'envelope', '{"type":"sync.required","payload":{}}'],
  ['payload', '{"type":"receipt.read","conversation_id":"c1","recipients":["alice"],"payload":{"seq":3},"traceparent":"00-ab-cd-01"}'],
];

function mutatedFields(mutator: Mutator): Buffer[] {
  const fields = mutator.pick(goodFields).map((field, index) => {
    const isName = index % 2 === 0;
    if (mutator.below(isName ? 40 : 2) > 0) return Buffer.from(field);
    return mutator.mutate(mutator.below(2) === 0 ? [field] : goodFields.flat().filter((_, other) => other % 2 === index % 2));
  });
  return mutator.below(100) === 0 ? fields.slice(0, -1) : fields;
}

test('mutated entries of the stream cost nobody a good one, and every one is counted once', async () => {
  const mutator = new Mutator(seed);
  const metrics = new Metrics();
  const context = testContext(1e9);
  const hub = new Hub();
  const tail = new RecentEvents(context.clock, { maxBytes: 1e6, maxAgeMs: 1e9 });
  const letters: string[] = [];
  const failures: unknown[] = [];
  const fixed = new FixedCards()
    .putUser('alice', {})
    .putUser('bob', { avatarUrl: 'https://example.test/b' })
    .putConversation('c1', { title: 'Team', participants: ['alice', 'bob'] as UserId[] })
    .putConversation('d1', { type: 'direct', participants: ['alice', 'bob'] as UserId[] });
  const cards: LoadableCards = {
    user: (id) => fixed.user(id),
    conversation: (id) => fixed.conversation(id),
    deadline: () => 0,
    warm: () => undefined,
  };
  const fanout = new Fanout(
    {
      hub,
      tail,
      cards,
      invalidation: { onEvent: () => undefined },
      deadLetters: { bury: async (_id, reason) => void letters.push(reason) },
      metrics: new FanoutMetrics(metrics),
      onDataLost: () => undefined,
      clock: context.clock,
      logger: { ...silentLogger, error: (fields: object) => void failures.push(fields) },
    },
    { maxEntryBytes: 4096 },
  );
  fanout.startAt('0-0' as StreamId);
  const sockets = ['alice', 'healthy'].map((userId) => {
    const { connection, socket } = liveConnection(context, userId);
    hub.add(connection);
    return socket;
  });
  let id = 0;
  const entry = (fields: Buffer[]): StreamEntry => ({ id: `${++id}-0` as StreamId, fields });
  const frames: string[] = [];
  for (let written = 0; written < entryCount; ) {
    const batch: StreamEntry[] = [];
    for (let n = mutator.below(16); n >= 0; n--, written++) batch.push(entry(mutatedFields(mutator)));
    const good = entry(
      ['recipients', '["healthy"]', 'envelope', `{"type":"news","payload":{"n":${id}}}`].map((field) => Buffer.from(field)),
    );
    batch.splice(mutator.below(batch.length + 1), 0, good);
    await fanout.handle(batch.map(({ fields }, index) => ({ id: `${id - batch.length + 1 + index}-0` as StreamId, fields })));
    const [toAlice = [], toHealthy = []] = sockets.map(({ frames: sent }) => sent.splice(0));
    for (const { packets } of sockets) packets.length = 0;
    expect(toHealthy.filter((frame) => frame.includes('"news"'))).toHaveLength(1);
    frames.push(...toAlice);
    expect(tail.bytes).toBeLessThanOrEqual(1e6);
  }

  expect(failures).toEqual([]);
  for (const frame of frames) {
    expect(frame).not.toContain('\ufffd'); // no bytes that are no UTF-8 have left
    expect(JSON.parse(frame)).toMatchObject({ type: expect.any(String), cursor: expect.any(String) });
  }
  expect(frames.length).toBeGreaterThan(entryCount / 20);
  expect([...new Set(letters)].sort()).toEqual(MALFORMED_REASONS.filter((reason) => reason !== 'oversized').sort());
  const counted = [...(await metrics.text()).matchAll(/^gateway_stream_entries_total\{outcome="(\w+)"\} (\d+)/gm)];
  expect(counted.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(id);
  expect(Number(counted.find(([, outcome]) => outcome === 'malformed')?.[2])).toBe(letters.length);
});

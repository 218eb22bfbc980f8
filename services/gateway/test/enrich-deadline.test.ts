// The deadline of a warm-up, on a clock that the test moves.
import {
  type ConversationCard,
  type ConversationId,
  decodeEnvelope,
  type Envelope,
  type UserCard,
  type UserId,
} from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import { CachedCards } from '../src/cards/cached-cards.js';
import type { CardSource } from '../src/cards/card-cache.js';
import { enrich } from '../src/frames/enrich.js';

const viewer = 'viewer' as UserId;
const deadlineMs = 100;

let clock: FakeClock;
let cards: CachedCards;
let delaysMs: { user: number; conversation: number };
let asked: string[];

beforeEach(() => {
  clock = new FakeClock();
  delaysMs = { user: 0, conversation: 0 };
  asked = [];
  const users = source('user', (userId: UserId): UserCard => ({ userId, displayName: `Name of ${userId}` }));
  const conversations = source(
    'conversation',
    (conversationId: ConversationId): ConversationCard => ({ conversationId, type: 'direct', participants: [viewer, 'peer' as UserId] }),
  );
  cards = new CachedCards(
    { users, conversations, clock, metrics: { lookedUp: () => undefined } },
    { maxBytes: 1_000_000, ttlMs: 60_000, negativeTtlMs: 10_000, faultTtlMs: 2000, deadlineMs },
  );
});

function source<I extends string, T>(kind: 'user' | 'conversation', cardOf: (id: I) => T): CardSource<I, T> {
  return {
    isServing: true,
    onProbe: () => undefined,
    fetch: async (id) => {
      asked.push(id);
      await clock.sleep(delaysMs[kind]);
      return { kind: 'found', value: cardOf(id) };
    },
  };
}

function event(senderId: string, conversationId?: string): Envelope {
  const conversation = conversationId === undefined ? {} : { conversation_id: conversationId };
  const text = JSON.stringify({ type: 'message.new', ...conversation, payload: { sender_id: senderId } });
  const envelope = decodeEnvelope(Buffer.from(text), false);
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

/** How long a batch of this event waits, in ms of the test's clock. */
async function waitedMs(envelope: Envelope): Promise<number> {
  const startedMs = clock.nowMs();
  let endedMs = startedMs;
  const loading = enrich([{ envelope, viewers: [viewer] }], cards)?.then(() => {
    endedMs = clock.nowMs();
  });
  if (loading !== undefined) await Promise.all([loading, clock.advance(1000)]);
  return endedMs - startedMs;
}

test('a batch waits for its cards as long as they take', async () => {
  delaysMs.user = 99;
  expect(await waitedMs(event('u1'))).toBe(99);
  expect(cards.user('u1' as UserId)).toMatchObject({ displayName: 'Name of u1' });
});

test('and never longer than the deadline; a card that comes later is there for the next batch', async () => {
  delaysMs.user = 101;
  expect(await waitedMs(event('u1'))).toBe(deadlineMs);
  expect(cards.user('u1' as UserId)).toMatchObject({ displayName: 'Name of u1' });
});

test('the two rounds of a direct dialog share one deadline', async () => {
  delaysMs = { user: 40, conversation: 50 };
  expect(await waitedMs(event('viewer', 'd1'))).toBe(90);
  delaysMs = { user: 70, conversation: 50 };
  expect(await waitedMs(event('other', 'd2'))).toBe(70); // the peer's card is there from before
  expect(asked).toEqual(['viewer', 'd1', 'peer', 'other', 'd2']);
});

test('a second round that is too slow ends at the deadline of the first', async () => {
  delaysMs = { user: 70, conversation: 50 };
  expect(await waitedMs(event('viewer', 'd1'))).toBe(deadlineMs);
});

test('many batches that need the same late card wait once altogether', async () => {
  delaysMs.user = 5000;
  expect(await waitedMs(event('u1'))).toBe(deadlineMs);
  expect(await waitedMs(event('u1'))).toBe(0);
  expect(asked).toEqual(['u1']);
});

test('five late cards are enough: the sixth is loaded, and not waited for until one has come', async () => {
  delaysMs.user = 10_000;
  for (const id of ['u1', 'u2', 'u3', 'u4', 'u5']) expect(await waitedMs(event(id))).toBe(deadlineMs);
  expect(await waitedMs(event('u6'))).toBe(0);
  expect(asked.at(-1)).toBe('u6');
  await clock.advance(10_000);
  delaysMs.user = 10;
  expect(await waitedMs(event('u7'))).toBe(10);
});

import type { ConversationId, UserId } from '@event-gateway/protocol';
import { FakeClock, type Logger, Metrics, silentLogger } from '@event-gateway/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { Typing, type TypingCards, type TypingConnection } from './typing.js';

const intervalMs = 2000;
const [a, b, c, x] = ['a', 'b', 'c', 'x'] as UserId[] as [UserId, UserId, UserId, UserId];
const [g1, g2, none] = ['g1', 'g2', 'none'] as ConversationId[] as [ConversationId, ConversationId, ConversationId];

/** Cards that are loaded by `warm` only, and then stay as `owners` had them, until they are too old. */
class FakeCards implements TypingCards {
  readonly owners = { users: new Map<string, string>(), conversations: new Map<string, UserId[] | 'absent'>() };
  readonly #users = new Map<UserId, string | undefined>();
  readonly #conversations = new Map<ConversationId, UserId[] | 'absent' | undefined>();
  #areTooOld = false;
  warmed = 0;

  user(id: UserId): { displayName: string } | 'absent' | 'missing' {
    const name = this.#users.get(id);
    return name === undefined ? 'missing' : name === 'absent' ? 'absent' : { displayName: name };
  }

  conversation(id: ConversationId): { participants: UserId[] } | 'absent' | 'missing' {
    const participants = this.#conversations.get(id);
    return participants === undefined ? 'missing' : participants === 'absent' ? 'absent' : { participants };
  }

  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>): Promise<void> | undefined {
    const coldUsers = [...users].filter((id) => this.#areTooOld || this.#users.get(id) === undefined);
    const coldConversations = [...conversations].filter((id) => this.#areTooOld || this.#conversations.get(id) === undefined);
    if (coldUsers.length + coldConversations.length === 0) return undefined;
    this.warmed++;
    for (const id of coldUsers) this.#users.set(id, this.owners.users.get(id));
    for (const id of coldConversations) this.#conversations.set(id, this.owners.conversations.get(id));
    return Promise.resolve();
  }

  /** From now on every card is. What is there is still to be seen, as in the real cache. */
  age(): void {
    this.#areTooOld = true;
  }
}

class FakeConnection implements TypingConnection {
  readonly frames: string[] = [];
  readonly userId: UserId;

  constructor(userId: UserId) {
    this.userId = userId;
  }

  writeEphemeral(frame: string): void {
    this.frames.push(frame);
  }
}

let clock: FakeClock;
let cards: FakeCards;
let metrics: Metrics;
let typing: Typing;
let published: string[];
let publish: (message: string) => Promise<unknown>;
let warnings: string[];
let here: Map<string, FakeConnection[]>;

function connect(userId: UserId): FakeConnection {
  const connection = new FakeConnection(userId);
  here.set(userId, [...(here.get(userId) ?? []), connection]);
  return connection;
}

async function outcome(name: string): Promise<number> {
  const line = (await metrics.text()).split('\n').find((text) => text.startsWith(`gateway_typing_total{outcome="${name}"}`));
  return Number(line?.split(' ').pop());
}

beforeEach(() => {
  clock = new FakeClock();
  cards = new FakeCards();
  cards.owners.users.set(a, 'Alice').set(b, 'Bob');
  cards.owners.conversations.set(g1, [a, b, c]).set(g2, [a, b]).set(none, 'absent');
  metrics = new Metrics();
  published = [];
  here = new Map();
  warnings = [];
  publish = async (message) => published.push(message);
  const logger: Logger = { ...silentLogger, child: () => logger, warn: (_fields, message) => warnings.push(message) };
  const redis = { call: (_command: string, _channel: string, message: string) => publish(message) };
  typing = new Typing({ hub: { connectionsOf: (id) => here.get(id) ?? [] }, cards, redis, metrics, clock, logger }, { intervalMs });
});

describe('at the author’s replica', () => {
  test('typing goes to the participants without the author', async () => {
    typing.onTyping({ userId: a }, g1);
    await clock.advance(0);
    expect(published.map((text) => JSON.parse(text))).toEqual([{ conversation_id: 'g1', user_id: 'a', recipients: ['b', 'c'] }]);
    expect(await outcome('relayed')).toBe(1);
  });

  test('of ten in a burst one passes, and the next one after the interval', async () => {
    for (let i = 0; i < 10; i++) typing.onTyping({ userId: a }, g1);
    await clock.advance(intervalMs - 1);
    typing.onTyping({ userId: a }, g1);
    await clock.advance(1);
    expect(published).toHaveLength(1);
    expect(await outcome('throttled')).toBe(10);
    typing.onTyping({ userId: a }, g1);
    await clock.advance(0);
    expect(published).toHaveLength(2);
  });

  test('every dialog and every author has an interval of its own', async () => {
    typing.onTyping({ userId: a }, g1);
    typing.onTyping({ userId: a }, g2);
    typing.onTyping({ userId: b }, g1);
    await clock.advance(0);
    expect(published).toHaveLength(3);
  });

  test('who does not take part is dropped in silence, and so is a conversation that does not exist', async () => {
    typing.onTyping({ userId: x }, g1);
    typing.onTyping({ userId: x }, none);
    await clock.advance(0);
    expect(published).toEqual([]);
    expect(warnings).toEqual([]);
    expect(await outcome('not_participant')).toBe(2);
  });

  test('a card that is too old does not decide who takes part', async () => {
    typing.onTyping({ userId: a }, none);
    typing.onTyping({ userId: x }, g1);
    await clock.advance(intervalMs);
    cards.owners.conversations.set(none, [a, b]).set(g1, [a, x]);
    cards.age();
    typing.onTyping({ userId: a }, none);
    typing.onTyping({ userId: x }, g1);
    await clock.advance(0);
    expect(await outcome('relayed')).toBe(2);
  });

  test('without a card in time it is dropped and counted, and the card is asked for once', async () => {
    typing.onTyping({ userId: a }, 'unloadable' as ConversationId);
    await clock.advance(0);
    expect(published).toEqual([]);
    expect(cards.warmed).toBe(1);
    expect(await outcome('no_card')).toBe(1);
  });

  test('a dialog with nobody else is relayed to nobody', async () => {
    cards.owners.conversations.set(g2, [a]);
    typing.onTyping({ userId: a }, g2);
    await clock.advance(0);
    expect(published).toEqual([]);
  });

  test('without Redis it is silent: counted, and one warning in ten seconds', async () => {
    publish = () => Promise.reject(new Error('down'));
    for (let i = 0; i < 4; i++) {
      typing.onTyping({ userId: a }, g1);
      await clock.advance(intervalMs);
    }
    expect(await outcome('failed')).toBe(4);
    expect(warnings).toEqual(['typing could not be relayed']);
  });

  test('a Redis that hangs piles up a bounded number of events', async () => {
    publish = () => new Promise(() => undefined);
    for (let i = 0; i < 1500; i++) {
      cards.owners.conversations.set(`g${i}x`, [a, b]);
      typing.onTyping({ userId: a }, `g${i}x` as ConversationId);
    }
    await clock.advance(0);
    expect(await outcome('failed')).toBe(500);
  });
});

describe('at every replica', () => {
  const message = (fields: object): string => JSON.stringify({ conversation_id: 'g1', user_id: 'a', recipients: ['b', 'c'], ...fields });

  test('the recipients’ sockets get the frame with the author’s name, all of them', async () => {
    const sockets = [connect(b), connect(b), connect(c)];
    const others = [connect(x), connect(a)];
    typing.onMessage(message({}));
    await clock.advance(0);
    const frame = { type: 'typing', conversation_id: 'g1', user_id: 'a', user_name: 'Alice' };
    expect(sockets.map(({ frames }) => frames.map((text) => JSON.parse(text)))).toEqual([[frame], [frame], [frame]]);
    expect(others.flatMap(({ frames }) => frames)).toEqual([]);
    expect(await outcome('delivered')).toBe(1);
  });

  test('the author’s own devices get nothing, whatever the message says', async () => {
    const own = connect(a);
    connect(b);
    typing.onMessage(message({ recipients: ['a', 'b'] }));
    await clock.advance(0);
    expect(own.frames).toEqual([]);
  });

  test('a name that is missing by a fault is "…" and stale; one that does not exist is "…"', async () => {
    const socket = connect(b);
    cards.owners.users.delete(a);
    typing.onMessage(message({}));
    await clock.advance(0);
    cards.owners.users.set(a, 'absent');
    typing.onMessage(message({}));
    await clock.advance(0);
    expect(socket.frames.map((text) => JSON.parse(text))).toEqual([
      { type: 'typing', conversation_id: 'g1', user_id: 'a', user_name: '…', stale: true },
      { type: 'typing', conversation_id: 'g1', user_id: 'a', user_name: '…' },
    ]);
  });

  test('a name that is too old is asked for again', async () => {
    const socket = connect(b);
    typing.onMessage(message({}));
    await clock.advance(0);
    cards.owners.users.set(a, 'Alicia');
    cards.age();
    typing.onMessage(message({}));
    await clock.advance(0);
    expect(socket.frames.map((text) => (JSON.parse(text) as { user_name: string }).user_name)).toEqual(['Alice', 'Alicia']);
  });

  test('a message for nobody here asks for no card', async () => {
    connect(x);
    typing.onMessage(message({}));
    await clock.advance(0);
    expect(cards.warmed).toBe(0);
    expect(await outcome('delivered')).toBe(0);
  });

  test('malformed messages are ignored and counted', async () => {
    const socket = connect(b);
    for (const text of ['', '{', '[]', message({ user_id: 7 }), message({ recipients: 'b' }), message({ conversation_id: '' })]) {
      typing.onMessage(text);
    }
    await clock.advance(0);
    expect(socket.frames).toEqual([]);
    expect(await outcome('malformed')).toBe(6);
  });

  test('a group of thousands gives way to others between its slices', async () => {
    const recipients = Array.from({ length: 1000 }, (_, i) => `m${i}` as UserId);
    const sockets = recipients.map(connect);
    cards.owners.users.set(a, 'Alice');
    await cards.warm([a], []);
    typing.onMessage(message({ recipients }));
    expect(sockets.filter(({ frames }) => frames.length > 0)).toHaveLength(256);
    await clock.advance(0);
    expect(sockets.every(({ frames }) => frames.length === 1)).toBe(true);
  });
});

// Cards and frames together, before owners that are real HTTP servers and fail in every way.
import { type ConversationId, decodeEnvelope, type Envelope, type UserId } from '@event-gateway/protocol';
import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CachedCards, type CachedCardsOptions } from '../src/cards/cached-cards.js';
import { CardsMetrics } from '../src/cards/cards-metrics.js';
import { CardInvalidation } from '../src/cards/invalidation.js';
import { Owners } from '../src/cards/owners.js';
import { EventFrames } from '../src/frames/build-frame.js';
import { enrich } from '../src/frames/enrich.js';
import { HttpOwner, type OwnerReply, userReply } from './http-owner.js';

const viewer = 'viewer' as UserId;
const ownerBreakerOpenMs = 200;
/** Deadlines and timeouts that are not looked at: a busy machine is not a fault of the owner. */
const patientMs = 20_000;
const patiently = { timeout: patientMs };
const deadlineMs = 100;
/** What a busy machine may add to a time that is measured. */
const slackMs = 400;

interface Frame {
  readonly message?: { readonly sender_name?: string };
  readonly conversation?: { readonly type?: string; readonly title?: string };
  readonly stale?: true;
}

let userService: HttpOwner;
let messenger: HttpOwner;
let metrics: Metrics;
let owners: Owners;
let cards: CachedCards;
let invalidation: CardInvalidation;
const names = new Map<string, string>();
const conversations = new Map<string, object>();

beforeEach(async () => {
  names.clear();
  conversations.clear();
  userService = await new HttpOwner().start();
  messenger = await new HttpOwner().start();
  heal();
  build();
});
afterEach(async () => {
  await owners.stop();
  await Promise.all([userService.stop(), messenger.stop()]);
});

function heal(): void {
  userService.reply = ({ url }) => userReply(url, names);
  messenger.reply = ({ url }) => {
    const id = decodeURIComponent(/conversations\/([^/]+)\/card$/.exec(url)?.[1] ?? '');
    const card = conversations.get(id) ?? { type: 'group', title: `Title of ${id}`, participants: ['viewer'] };
    return { body: { conversation_id: id, ...card } };
  };
}

function build(options: Partial<CachedCardsOptions> & { ownerTimeoutMs?: number } = {}): void {
  metrics = new Metrics();
  const cardsMetrics = new CardsMetrics(metrics);
  owners = new Owners(systemClock, cardsMetrics, {
    userServiceUrl: userService.url,
    messengerUrl: messenger.url,
    ownerToken: undefined,
    ownerTimeoutMs: options.ownerTimeoutMs ?? patientMs,
    ownerBreakerOpenMs,
    syncTimeoutMs: 1000,
    syncConcurrency: 4,
    syncQueue: 10,
  });
  cards = new CachedCards(
    { users: owners.users, conversations: owners.conversations, clock: systemClock, metrics: cardsMetrics },
    { maxBytes: 8_000_000, ttlMs: 60_000, negativeTtlMs: 10_000, faultTtlMs: ownerBreakerOpenMs, deadlineMs: patientMs, ...options },
  );
  invalidation = new CardInvalidation(cards, systemClock, silentLogger);
}

async function rebuild(options: Parameters<typeof build>[0]): Promise<void> {
  await owners.stop();
  build(options);
}

function event(senderId: string, conversationId?: string, type = 'message.new'): Envelope {
  const conversation = conversationId === undefined ? {} : { conversation_id: conversationId };
  const envelope = decodeEnvelope(Buffer.from(JSON.stringify({ type, ...conversation, payload: { sender_id: senderId } })), false);
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

async function deliver(envelopes: readonly Envelope[], to = viewer): Promise<{ frames: Frame[]; waitedMs: number }> {
  const startedMs = performance.now();
  for (const envelope of envelopes) invalidation.onEvent(envelope);
  const loading = enrich(
    envelopes.map((envelope) => ({ envelope, viewers: [to] })),
    cards,
  );
  if (loading !== undefined) await loading;
  const waitedMs = performance.now() - startedMs;
  const frames = envelopes.map((envelope) => JSON.parse(Buffer.from(new EventFrames(envelope, '1-1', cards).for(to)).toString()) as Frame);
  return { frames, waitedMs };
}

async function deliverOne(envelope: Envelope, to = viewer): Promise<Frame & { waitedMs: number }> {
  const { frames, waitedMs } = await deliver([envelope], to);
  return { ...frames[0], waitedMs };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const nameIn = (frame: Frame): string | undefined => frame.message?.sender_name;
const titleIn = (frame: Frame): string | undefined => frame.conversation?.title;

describe('how often owners are asked', () => {
  test('1,000 events of 50 new senders cost exactly 50 card requests, 10,000 further events none', async () => {
    const batches = Array.from({ length: 4 }, (_, b) => Array.from({ length: 250 }, (_, i) => event(`u${(b * 250 + i) % 50}`, 'c1')));
    const delivered = await Promise.all(batches.map((batch) => deliver(batch)));
    expect(userService.requests).toHaveLength(50);
    expect(messenger.requests).toHaveLength(1);
    for (const { frames } of delivered) for (const frame of frames) expect(frame).not.toHaveProperty('stale');
    expect(nameIn(delivered[3]?.frames.at(-1) ?? {})).toBe('Name of u49');
    for (let i = 0; i < 40; i++) await deliver(batches[i % 4] ?? []);
    expect(userService.requests).toHaveLength(50);
    expect(messenger.requests).toHaveLength(1);
  });

  test('when everything is hot nothing is awaited', async () => {
    await deliverOne(event('u1', 'c1'));
    expect(enrich([{ envelope: event('u1', 'c1'), viewers: [viewer] }], cards)).toBeUndefined();
  });

  test('ids are asked for percent-encoded; those that no path can name are nobody', async () => {
    const frame = await deliverOne(event('a/b?c#d é'));
    expect(nameIn(frame)).toBe('Name of a/b?c#d é');
    expect(userService.requests[0]?.url).toBe('/internal/users/a%2Fb%3Fc%23d%20%C3%A9/card');
    expect(nameIn(await deliverOne(event('..')))).toBe('…');
    expect(userService.requests).toHaveLength(1);
  });
});

describe('a direct dialog', () => {
  beforeEach(() => conversations.set('d1', { type: 'direct', participants: ['viewer', 'peer'] }));

  test("the other one's name is there with the first event, and nobody else's card is asked for", async () => {
    const frame = await deliverOne(event('sender', 'd1'));
    expect(frame.conversation).toEqual({ type: 'direct', title: 'Name of peer' });
    expect(userService.requests.map(({ url }) => url).toSorted()).toEqual(['/internal/users/peer/card', '/internal/users/sender/card']);
  });

  test('that there was none of has its title with the first event after that has had its time', async () => {
    await rebuild({ negativeTtlMs: 1 });
    messenger.reply = () => ({ status: 404 });
    expect(await deliverOne(event('sender', 'd1'))).not.toHaveProperty('conversation');
    heal();
    const frame = await vi.waitFor(async () => {
      const next = await deliverOne(event('sender', 'd1'));
      expect(next).toHaveProperty('conversation');
      return next;
    }, patiently);
    expect([frame.conversation, frame.stale]).toEqual([{ type: 'direct', title: 'Name of peer' }, undefined]);
  });
});

type Owner = 'userService' | 'messenger';
/** Whole as a user's card and as a conversation's. */
const anotherOnesCard = {
  ...{ user_id: 'other', display_name: 'Name of other' },
  ...{ conversation_id: 'other', type: 'group', title: 'Title of other', participants: ['viewer'] },
};
const faults: [string, OwnerReply][] = [
  ['answers 500', { status: 500 }],
  ['cuts connections', { fault: 'reset' }],
  ['answers garbage', { body: '<html>' }],
  ['answers cards of another form', { body: { name: 'x' } }],
  ['answers the card of another one', { body: anotherOnesCard }],
  ['answers without end', { body: `{"x":"${'x'.repeat(2_000_000)}"}` }],
];

describe.each<[Owner, (frame: Frame) => string | undefined, string]>([
  ['userService', nameIn, 'Name of'],
  ['messenger', titleIn, 'Title of'],
])('a failing %s', (which, shown, prefix) => {
  const failing = (): HttpOwner => (which === 'userService' ? userService : messenger);
  // Every event needs a card that is not there yet, from the owner under test only.
  let count = 0;
  const coldEvent = (): Envelope => (which === 'userService' ? event(`new${++count}`) : event('viewer', `new${++count}`));
  const isMissing = (frame: Frame): boolean => shown(frame) === '…' && frame.stale === true;

  beforeEach(async () => {
    count = 0;
    await rebuild({ deadlineMs });
    await deliverOne(event('viewer', 'c0')); // the cards that are not under test are hot
  });

  async function failsUntilOpen(): Promise<void> {
    await vi.waitFor(async () => {
      expect(isMissing(await deliverOne(coldEvent()))).toBe(true);
      expect(await metrics.text()).toContain(
        `gateway_owner_breaker_open{owner="${which === 'userService' ? 'user-service' : 'messenger'}"} 1`,
      );
    }, patiently);
  }

  async function medianWaitMs(events: readonly Envelope[]): Promise<number> {
    const waits: number[] = [];
    for (const envelope of events) waits.push((await deliverOne(envelope)).waitedMs);
    return median(waits);
  }

  test.each(faults)('%s: "…" and stale, then nobody waits, then names are back within the probe interval', async (_, reply) => {
    const hot = which === 'userService' ? event('viewer') : event('viewer', 'c0');
    const healthyMs = await medianWaitMs(Array.from({ length: 50 }, () => hot));
    failing().reply = () => reply;
    await failsUntilOpen();
    const asked = failing().requests.length;
    expect(await medianWaitMs(Array.from({ length: 50 }, coldEvent))).toBeLessThan(healthyMs + 1);
    expect(failing().requests.length - asked).toBeLessThanOrEqual(1);
    heal();
    const healedMs = performance.now();
    await vi.waitFor(async () => expect(shown(await deliverOne(coldEvent()))).toMatch(prefix), patiently);
    expect(performance.now() - healedMs).toBeLessThan(ownerBreakerOpenMs + slackMs);
  });

  test('hangs: the first batches wait for the deadline at most, then nobody waits', async () => {
    failing().reply = () => ({ fault: 'hang' });
    const waits: number[] = [];
    for (let i = 0; i < 20; i++) {
      const frame = await deliverOne(coldEvent());
      expect(isMissing(frame)).toBe(true);
      waits.push(frame.waitedMs);
    }
    expect(Math.max(...waits)).toBeLessThan(deadlineMs + slackMs);
    expect(Math.min(...waits.slice(0, 5))).toBeGreaterThan(deadlineMs - 10);
    expect(median(waits.slice(5))).toBeLessThan(1);
  });

  test('hangs over one card: a batch that needs it again does not wait again', async () => {
    failing().reply = () => ({ fault: 'hang' });
    const envelope = coldEvent();
    expect((await deliverOne(envelope)).waitedMs).toBeGreaterThan(deadlineMs - 10);
    expect((await deliverOne(envelope)).waitedMs).toBeLessThan(60);
  });

  test('hangs, then returns: names are back within the probe interval after the last request has timed out', async () => {
    await rebuild({ deadlineMs, ownerTimeoutMs: 120 });
    await deliverOne(event('viewer', 'c0'));
    failing().reply = () => ({ fault: 'hang' });
    await failsUntilOpen();
    heal();
    const healedMs = performance.now();
    await vi.waitFor(async () => expect(shown(await deliverOne(coldEvent()))).toMatch(prefix), patiently);
    expect(performance.now() - healedMs).toBeLessThan(120 + ownerBreakerOpenMs + slackMs);
  });

  test('refuses connections, then listens again', async () => {
    await failing().stop();
    await failsUntilOpen();
    await failing().start();
    await vi.waitFor(async () => expect(shown(await deliverOne(coldEvent()))).toMatch(prefix), patiently);
  });

  test('answers after the deadline: the frame does not wait, and the next one has it', async () => {
    const healthy = failing().reply;
    failing().reply = (request) => ({ ...healthy(request), delayMs: 800 });
    const envelope = coldEvent();
    const first = await deliverOne(envelope);
    expect(isMissing(first)).toBe(true);
    expect(first.waitedMs).toBeLessThan(deadlineMs + slackMs);
    await vi.waitFor(async () => expect(shown(await deliverOne(envelope))).toMatch(prefix), patiently);
    expect(failing().requests.filter(({ url }) => url.includes('new1/'))).toHaveLength(1);
  });
});

test('a 404 is asked for once, is not stale, and a conversation that does not exist is left out', async () => {
  userService.reply = () => ({ status: 404 });
  messenger.reply = () => ({ status: 404 });
  for (let i = 0; i < 20; i++) {
    const frame = await deliverOne(event('nobody', 'nowhere'));
    expect(nameIn(frame)).toBe('…');
    expect(frame).not.toHaveProperty('conversation');
    expect(frame).not.toHaveProperty('stale');
  }
  expect(userService.requests).toHaveLength(1);
  expect(messenger.requests).toHaveLength(1);
});

test("another one's card is a fault of the owner: counted, not kept under either id, and asked for again", async () => {
  await rebuild({ faultTtlMs: 20 });
  const healthy = [userService.reply, messenger.reply] as const;
  userService.reply = () => ({ body: anotherOnesCard });
  messenger.reply = () => ({ body: anotherOnesCard });
  const frame = await deliverOne(event('u1', 'c1'));
  expect([nameIn(frame), titleIn(frame), frame.stale]).toEqual(['…', '…', true]);
  const page = await metrics.text();
  for (const owner of ['user-service', 'messenger'])
    expect(page).toContain(`gateway_owner_faults_total{owner="${owner}",reason="malformed"} 1`);
  expect([cards.user('other' as UserId), cards.conversation('other' as ConversationId)]).toEqual(['missing', 'missing']);
  [userService.reply, messenger.reply] = healthy;
  await vi.waitFor(async () => {
    const healed = await deliverOne(event('u1', 'c1'));
    expect([nameIn(healed), titleIn(healed)]).toEqual(['Name of u1', 'Title of c1']);
  }, patiently);
});

test('a card endpoint that fails does not take sync away', async () => {
  messenger.reply = ({ url }) => (url === '/internal/sync' ? { body: { conversations: [], events: [] } } : { status: 500 });
  for (let i = 0; i < 20; i++) await deliverOne(event('u1', `c${i}`));
  expect(owners.conversations.isServing).toBe(false);
  const page = await owners.fetchSyncPage(
    { user_id: viewer, conversations: new Map() },
    { signal: new AbortController().signal, isContinued: false },
  );
  expect(page.kind).toBe('found');
});

describe('cards that change', () => {
  const messages = new Map<string, (text: string) => void>();
  let reconnected = (): void => undefined;

  beforeEach(() => {
    invalidation.listen({
      subscribe: (channel, onMessage) => void messages.set(channel, onMessage),
      onReconnected: (listener) => {
        reconnected = listener;
      },
    });
  });

  function publish(channel: string, message: object | string): void {
    messages.get(channel)?.(typeof message === 'string' ? message : JSON.stringify(message));
  }

  test('a rename shows in the next frame', async () => {
    await deliverOne(event('u1'));
    names.set('u1', 'Alicia');
    publish('user.updated', { user_id: 'u1' });
    expect(nameIn(await deliverOne(event('u1')))).toBe('Alicia');
  });

  test('a rename that brings the card needs no request', async () => {
    await deliverOne(event('u1'));
    publish('user.updated', { user_id: 'u1', card: { user_id: 'u1', display_name: 'Alicia' } });
    expect(nameIn(await deliverOne(event('u1')))).toBe('Alicia');
    expect(userService.requests).toHaveLength(1);
  });

  test('a rename while the old card is on its way: the old name is never shown', async () => {
    const healthy = userService.reply;
    userService.reply = (request) => ({ ...healthy(request), delayMs: 60 });
    const first = deliverOne(event('u1'));
    await vi.waitFor(() => expect(userService.requests).toHaveLength(1), patiently);
    names.set('u1', 'Alicia');
    userService.reply = healthy;
    publish('user.updated', { user_id: 'u1' });
    expect(nameIn(await deliverOne(event('u1')))).toBe('Alicia');
    expect(nameIn(await first)).toBe('Alicia');
    await vi.waitFor(() => expect(userService.inFlight).toBe(0), patiently);
    expect(nameIn(await deliverOne(event('u1')))).toBe('Alicia');
  });

  test.each(['conversation.updated', 'member.changed'])('%s drops the conversation, by pub/sub', async (channel) => {
    await deliverOne(event('u1', 'c1'));
    conversations.set('c1', { type: 'group', title: 'Renamed', participants: [] });
    publish(channel, { conversation_id: 'c1' });
    expect(titleIn(await deliverOne(event('u1', 'c1')))).toBe('Renamed');
  });

  test.each(['conversation.updated', 'member.changed'])('%s drops the conversation for its whole batch, by the stream', async (type) => {
    await deliverOne(event('u1', 'c1'));
    conversations.set('c1', { type: 'group', title: 'Renamed', participants: [] });
    const { frames } = await deliver([event('u1', 'c1'), event('u1', 'c1', type), event('u1', 'c1')]);
    expect(frames.map(titleIn)).toEqual(['Renamed', 'Renamed', 'Renamed']);
    expect(messenger.requests).toHaveLength(2);
  });

  test('a conversation that was looked for too early is found when it has been created', async () => {
    messenger.reply = () => ({ status: 404 });
    expect(await deliverOne(event('u1', 'c1'))).not.toHaveProperty('conversation');
    heal();
    expect(titleIn(await deliverOne(event('u1', 'c1', 'conversation.created')))).toBe('Title of c1');
  });

  test('a rename that was missed while the subscriber was away is right within one refresh, and nobody waits for it', async () => {
    await deliver([event('u1', 'c1'), event('u2', 'c2')]);
    names.set('u1', 'Alicia');
    conversations.set('c1', { type: 'group', title: 'Renamed', participants: [] });
    reconnected();
    const meanwhile = await deliverOne(event('u1', 'c1'));
    expect([nameIn(meanwhile), titleIn(meanwhile)]).toEqual(['Name of u1', 'Title of c1']);
    await vi.waitFor(async () => {
      const frame = await deliverOne(event('u1', 'c1'));
      expect([nameIn(frame), titleIn(frame)]).toEqual(['Alicia', 'Renamed']);
    }, patiently);
    expect(userService.requests.filter(({ url }) => url.includes('/u1/'))).toHaveLength(2);
    expect(userService.requests.filter(({ url }) => url.includes('/u2/'))).toHaveLength(1);
  });

  test('a card that changes while others are waited for is not "…" for it', async () => {
    await deliverOne(event('u1', 'c1'));
    const healthy = userService.reply;
    userService.reply = (request) => (request.url.includes('/slow/') ? { ...healthy(request), delayMs: 80 } : healthy(request));
    const delivering = deliver([event('u1', 'c1'), event('slow', 'c1')]);
    await vi.waitFor(() => expect(userService.requests).toHaveLength(2), { ...patiently, interval: 2 });
    names.set('u1', 'Alicia');
    publish('user.updated', { user_id: 'u1' });
    publish('member.changed', { conversation_id: 'c1' });
    const { frames } = await delivering;
    expect(frames.map(nameIn)).toEqual(['Alicia', 'Name of slow']);
    expect(frames.map(titleIn)).toEqual(['Title of c1', 'Title of c1']);
    for (const frame of frames) expect(frame).not.toHaveProperty('stale');
  });

  test('malformed messages change nothing', async () => {
    await deliverOne(event('u1', 'c1'));
    for (const channel of messages.keys()) for (const text of ['', '{', '[]', '{"user_id":7}', 'null']) publish(channel, text);
    await deliverOne(event('u1', 'c1'));
    expect(userService.requests).toHaveLength(1);
  });
});

test('how cards are found is counted, by kind and result', async () => {
  await deliverOne(event('u1', 'c1'));
  await deliverOne(event('u1', 'c1'));
  userService.reply = () => ({ status: 404 });
  await deliverOne(event('nobody', 'c1'));
  await deliverOne(event('nobody', 'c1'));
  const page = await metrics.text();
  expect(page).toContain('gateway_card_lookups_total{card="user",result="load"} 2');
  expect(page).toContain('gateway_card_lookups_total{card="user",result="hit"} 1');
  expect(page).toContain('gateway_card_lookups_total{card="user",result="absent"} 1');
  expect(page).toContain('gateway_card_lookups_total{card="conversation",result="hit"} 3');
  expect(page).toContain('gateway_card_fetch_seconds_count{owner="user-service"} 2');
  expect(page).toContain('gateway_owner_breaker_open{owner="messenger"} 0');
});

import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { decodeConversationCard, decodeSyncPage, decodeUserCard } from '@event-gateway/protocol';
import { RedisConnections } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../test/start-sandbox.js';

let server: RedisServer;
let redis: RedisConnections;
let sandbox: TestSandbox;
let alice: Awaited<ReturnType<TestSandbox['as']>>;
let bob: typeof alice;
let carol: typeof alice;
let heard: { channel: string; message: unknown }[] = [];

const direct = '/api/conversations/alice-bob';
const group = '/api/conversations/team';

interface Entry {
  readonly recipients: string[];
  readonly envelope: { type: string; event_id: string; conversation_id?: string; occurred_at: string; payload: Record<string, unknown> };
}

/** Everything on the stream since the test began, once the outbox is empty. */
async function published(): Promise<Entry[]> {
  await eventually(async () => (await sandbox.ask('GET', '/healthz')).body['outbox_unsent'] === (0 as unknown));
  const entries = (await redis.command.call('XRANGE', 'messenger.events', '-', '+')) as [string, string[]][];
  return entries.map(([, [name, recipients, other, envelope]]) => {
    expect([name, other]).toEqual(['recipients', 'envelope']);
    return { recipients: JSON.parse(recipients ?? ''), envelope: JSON.parse(envelope ?? '') } as Entry;
  });
}

async function post(as: typeof alice, conversation: string, text: string): Promise<string> {
  const answer = await as('POST', `${conversation}/messages`, { text });
  expect(answer.status).toBe(201);
  return String(answer.body['id']);
}

beforeAll(async () => {
  server = await startRedisServer();
  redis = new RedisConnections({ url: server.url, commandTimeoutMs: 2000 }, systemClock, silentLogger);
  for (const channel of ['user.updated', 'conversation.updated', 'member.changed']) {
    redis.subscriber.subscribe(channel, (text) => heard.push({ channel, message: JSON.parse(text) }));
  }
  redis.start();
  await redis.subscriber.whenSubscribed();
  sandbox = await startSandbox({ REDIS_URL: server.url });
  [alice, bob, carol] = [await sandbox.as('alice'), await sandbox.as('bob'), await sandbox.as('carol')];
  await published();
});

beforeEach(async () => {
  await published();
  await redis.command.call('DEL', 'messenger.events');
  heard = [];
});

afterAll(async () => {
  await sandbox.stop();
  redis.stop();
  await server.stop();
});

describe('what happens is put on the bus', () => {
  test('a posted message, for every member, with the next seq of its conversation', async () => {
    const before = Number((await alice('GET', direct)).body['last_seq']);
    const answer = await alice('POST', `${direct}/messages`, { text: 'Hello' });
    expect(answer).toMatchObject({ status: 201, body: { seq: before + 1, sender_id: 'alice', text: 'Hello' } });
    expect(await published()).toEqual([
      {
        recipients: ['alice', 'bob'],
        envelope: {
          type: 'message.new',
          event_id: expect.any(String),
          conversation_id: 'alice-bob',
          occurred_at: answer.body['sent_at'],
          payload: { id: answer.body['id'], seq: before + 1, sender_id: 'alice', text: 'Hello', sent_at: answer.body['sent_at'] },
        },
      },
    ]);
  });

  test('a message that is posted twice under one client id is one message and one event', async () => {
    const first = await alice('POST', `${direct}/messages`, { text: 'Once', client_id: 'x1' });
    const again = await alice('POST', `${direct}/messages`, { text: 'Once', client_id: 'x1' });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body['id']).toBe(first.body['id']);
    expect(await published()).toHaveLength(1);
    expect((await bob('POST', `${direct}/messages`, { text: 'Mine', client_id: 'x1' })).status).toBe(201);
  });

  test('an edit, a deletion, reactions and receipts', async () => {
    const id = await post(alice, group, 'Draft');
    await alice('PATCH', `${group}/messages/${id}`, { text: 'Final' });
    await bob('PUT', `${group}/messages/${id}/reactions/${encodeURIComponent('👍')}`);
    await bob('PUT', `${group}/messages/${id}/reactions/${encodeURIComponent('👍')}`);
    await bob('DELETE', `${group}/messages/${id}/reactions/${encodeURIComponent('👍')}`);
    const seq = Number((await bob('GET', group)).body['last_seq']);
    expect((await bob('POST', `${group}/read`, { seq })).status).toBe(204);
    await bob('POST', `${group}/read`, { seq: seq - 1 });
    await carol('POST', `${group}/delivered`, { seq });
    await alice('DELETE', `${group}/messages/${id}`);
    const events = await published();
    expect(events.map(({ envelope: { type, payload } }) => [type, payload])).toEqual([
      ['message.new', expect.objectContaining({ id, seq, text: 'Draft' })],
      ['message.edited', { id, seq, sender_id: 'alice', text: 'Final', edited_at: expect.any(String) }],
      ['reaction.added', { message_id: id, seq, user_id: 'bob', emoji: '👍' }],
      ['reaction.removed', { message_id: id, seq, user_id: 'bob', emoji: '👍' }],
      ['receipt.read', { user_id: 'bob', seq }],
      ['receipt.delivered', { user_id: 'carol', seq }],
      ['message.deleted', { id, seq, sender_id: 'alice', deleted_at: expect.any(String) }],
    ]);
    for (const { recipients, envelope } of events) {
      expect(recipients).toEqual(['alice', 'bob', 'carol']);
      expect(envelope.conversation_id).toBe('team');
    }
  });

  test('a new title is an invalidation first and an event after it', async () => {
    expect((await alice('PATCH', group, { title: 'The Team' })).body['title']).toBe('The Team');
    await alice('PATCH', group, { title: 'The Team' });
    expect(await published()).toMatchObject([{ envelope: { type: 'conversation.updated', payload: { title: 'The Team', by: 'alice' } } }]);
    await eventually(() => heard.length === 1);
    expect(heard).toEqual([{ channel: 'conversation.updated', message: { conversation_id: 'team' } }]);
  });

  test('a member who is taken out is told so, and one who is added too', async () => {
    expect((await alice('DELETE', `${group}/members/carol`)).body['participants']).toEqual(['alice', 'bob']);
    expect((await carol('GET', `${group}/messages`)).status).toBe(403);
    expect((await alice('POST', `${group}/members`, { user_id: 'carol' })).body['participants']).toEqual(['alice', 'bob', 'carol']);
    expect(await published()).toMatchObject([
      {
        recipients: ['alice', 'bob', 'carol'],
        envelope: { type: 'member.changed', payload: { user_id: 'carol', change: 'removed', by: 'alice' } },
      },
      {
        recipients: ['alice', 'bob', 'carol'],
        envelope: { type: 'member.changed', payload: { user_id: 'carol', change: 'added', by: 'alice' } },
      },
    ]);
    await eventually(() => heard.length === 2);
    expect(heard).toEqual(Array(2).fill({ channel: 'member.changed', message: { conversation_id: 'team' } }));
  });

  test('a new name reaches the cards with the card inside, and everybody who shares a conversation', async () => {
    await sandbox.ask('PUT', '/admin/users/dave', { display_name: 'Dave' });
    const dave = await sandbox.as('dave');
    const { body } = await dave('POST', '/api/conversations', { type: 'direct', peer_id: 'alice' });
    await dave('PATCH', '/api/me', { display_name: 'David', status: 'new here' });
    await dave('PATCH', '/api/me', { display_name: 'David' });
    const events = await published();
    expect(events.map(({ envelope, recipients }) => [envelope.type, recipients.sort()])).toEqual([
      ['conversation.created', ['alice', 'dave']],
      ['user.updated', ['alice', 'dave']],
    ]);
    expect(events[0]?.envelope.payload).toMatchObject({
      conversation_id: body['conversation_id'],
      type: 'direct',
      participants: ['dave', 'alice'],
    });
    await eventually(() => heard.length === 3);
    expect(heard.map(({ channel }) => channel)).toEqual(['user.updated', 'conversation.updated', 'user.updated']);
    expect(heard[2]?.message).toEqual({ user_id: 'dave', card: { user_id: 'dave', display_name: 'David', status: 'new here' } });
  });

  test('two people have one direct dialog, whoever asks', async () => {
    const opened = await bob('POST', '/api/conversations', { type: 'direct', peer_id: 'alice' });
    expect(opened).toMatchObject({ status: 200, body: { conversation_id: 'alice-bob' } });
    expect(await published()).toEqual([]);
  });

  test('a group has its creator and its members, each once', async () => {
    const { status, body } = await bob('POST', '/api/conversations', {
      type: 'group',
      title: 'Lunch',
      member_ids: ['carol', 'bob', 'carol'],
    });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { type: 'group', title: 'Lunch', participants: ['bob', 'carol'], last_seq: 0 },
    });
  });
});

describe('what a messenger must refuse', () => {
  const cases: [string, number, string, () => Promise<unknown>][] = [
    ['no token', 401, 'token_missing', () => sandbox.ask('GET', '/api/me')],
    ['no token, before the body is read', 401, 'token_missing', () => sandbox.ask('POST', `${direct}/messages`, '{')],
    ['a token that is none', 401, 'token_invalid', () => sandbox.ask('GET', '/api/me', undefined, { authorization: 'Bearer x.y.z' })],
    ['a non-member posting', 403, 'not_a_member', () => carol('POST', `${direct}/messages`, { text: 'Let me in' })],
    ['a non-member reading', 403, 'not_a_member', () => carol('GET', `${direct}/messages`)],
    ['a non-member looking', 403, 'not_a_member', () => carol('GET', direct)],
    ['a non-member renaming', 403, 'not_a_member', () => carol('PATCH', direct, { title: 'Mine' })],
    ['a non-member adding', 403, 'not_a_member', () => carol('POST', `${direct}/members`, { user_id: 'carol' })],
    ['a non-member acknowledging', 403, 'not_a_member', () => carol('POST', `${direct}/read`, { seq: 0 })],
    ['an unknown conversation', 404, 'conversation_unknown', () => alice('POST', '/api/conversations/nope/messages', { text: 'Hello?' })],
    ['an unknown message', 404, 'message_unknown', () => alice('PATCH', `${direct}/messages/nope`, { text: 'x' })],
    ['an unknown peer', 404, 'user_unknown', () => alice('POST', '/api/conversations', { type: 'direct', peer_id: 'nobody' })],
    [
      'an unknown member of a group',
      404,
      'user_unknown',
      () => alice('POST', '/api/conversations', { type: 'group', title: 'T', member_ids: ['nobody'] }),
    ],
    ['an unknown new member', 404, 'user_unknown', () => alice('POST', `${group}/members`, { user_id: 'nobody' })],
    ['logging in as nobody', 404, 'user_unknown', () => sandbox.ask('POST', '/login', { user_id: 'nobody' })],
    ['an unknown path', 404, 'not_found', () => alice('GET', '/api/nothing')],
    ['another method', 405, 'method_not_allowed', () => alice('PUT', `${direct}/messages`, { text: 'x' })],
    ['a third person in a dialog', 409, 'direct_is_fixed', () => alice('POST', `${direct}/members`, { user_id: 'carol' })],
    ['leaving a dialog', 409, 'direct_is_fixed', () => alice('DELETE', `${direct}/members/alice`)],
    ['a dialog with oneself', 400, 'bad_request', () => alice('POST', '/api/conversations', { type: 'direct', peer_id: 'alice' })],
    ['a body that is not JSON', 400, 'bad_json', () => alice('POST', `${direct}/messages`, '{"text":')],
    ['a body that is not UTF-8', 400, 'bad_json', () => alice('POST', `${direct}/messages`, Buffer.from('{"text":"\xff"}', 'latin1'))],
    ['a body that is not an object', 400, 'bad_request', () => alice('POST', `${direct}/messages`, '[]')],
    ['an empty text', 400, 'bad_request', () => alice('POST', `${direct}/messages`, { text: ' ' })],
    ['a text that is a number', 400, 'bad_request', () => alice('POST', `${direct}/messages`, { text: 7 })],
    ['a text with NUL', 400, 'bad_request', () => alice('POST', `${direct}/messages`, { text: 'a\0b' })],
    ['a text with half a character', 400, 'bad_request', () => alice('POST', `${direct}/messages`, '{"text":"\\ud83d"}')],
    ['a text that is too long', 400, 'bad_request', () => alice('POST', `${direct}/messages`, { text: 'x'.repeat(10_001) })],
    ['an id with NUL', 400, 'bad_request', () => alice('GET', '/api/conversations/alice-bob%00')],
    ['a path that is not UTF-8', 400, 'bad_request', () => alice('GET', '/api/conversations/%ff')],
    ['a receipt from the future', 400, 'bad_request', () => alice('POST', `${direct}/read`, { seq: 1_000_000 })],
    ['a page size of 0', 400, 'bad_request', () => alice('GET', `${direct}/messages?limit=0`)],
    ['an oversized body', 413, 'payload_too_large', () => alice('POST', `${direct}/messages`, { text: 'x'.repeat(70_000) })],
    ['a very oversized body', 413, 'payload_too_large', () => alice('POST', `${direct}/messages`, { text: 'x'.repeat(8_000_000) })],
  ];
  test.each(cases)('%s: %i %s', async (_what, status, code, asking) => {
    expect(await asking()).toMatchObject({ status, body: { error: { code, message: expect.any(String) } } });
    expect(await published()).toEqual([]);
  });

  test('an oversized body without a declared length', async () => {
    const { body } = await sandbox.ask('POST', '/login', { user_id: 'alice' });
    let chunks = 0;
    const stream = new ReadableStream({
      pull: (controller) => (chunks++ < 200 ? controller.enqueue(new Uint8Array(16_384).fill(32)) : controller.close()),
    });
    const response = await fetch(`${sandbox.url}${direct}/messages`, {
      method: 'POST',
      body: stream,
      headers: { authorization: `Bearer ${String(body['token'])}` },
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  test('somebody else changing a message, and anybody changing a deleted one', async () => {
    const id = await post(alice, direct, 'Mine');
    expect((await bob('PATCH', `${direct}/messages/${id}`, { text: 'Yours' })).body).toMatchObject({ error: { code: 'not_the_author' } });
    expect((await bob('DELETE', `${direct}/messages/${id}`)).status).toBe(403);
    // A message is found in its own conversation only.
    expect((await alice('PATCH', `${group}/messages/${id}`, { text: 'x' })).status).toBe(404);
    await alice('DELETE', `${direct}/messages/${id}`);
    expect((await alice('PATCH', `${direct}/messages/${id}`, { text: 'x' })).body).toMatchObject({ error: { code: 'message_deleted' } });
  });
});

test('history comes in pages, oldest first, with reactions, and a deleted message keeps its place without its text', async () => {
  const { body } = await alice('POST', '/api/conversations', { type: 'group', title: 'Pages', member_ids: [] });
  const path = `/api/conversations/${String(body['conversation_id'])}`;
  const ids = [];
  for (let n = 1; n <= 5; n++) ids.push(await post(alice, path, `text ${n}`));
  await alice('DELETE', `${path}/messages/${ids[3]}`);
  await alice('PUT', `${path}/messages/${ids[2]}/reactions/x`);
  const newest = await alice('GET', `${path}/messages?limit=3`);
  expect(newest.body['messages']).toMatchObject([
    { seq: 3, text: 'text 3', reactions: [{ user_id: 'alice', emoji: 'x' }] },
    { seq: 4, text: '', deleted_at: expect.any(String), reactions: [] },
    { seq: 5, text: 'text 5' },
  ]);
  expect((await alice('GET', `${path}/messages?limit=3&before_seq=3`)).body['messages']).toMatchObject([{ seq: 1 }, { seq: 2 }]);
});

describe('what the gateway asks its owners', () => {
  test('a user card', async () => {
    const { status, text } = await sandbox.ask('GET', '/internal/users/bob/card');
    expect({ status, card: decodeUserCard(text) }).toMatchObject({ status: 200, card: { userId: 'bob', displayName: 'Bob' } });
    expect(await sandbox.ask('GET', '/internal/users/nobody/card')).toMatchObject({
      status: 404,
      body: { error: { code: 'user_unknown' } },
    });
  });

  test('a conversation card, with its participants', async () => {
    const { status, text } = await sandbox.ask('GET', '/internal/conversations/alice-bob/card');
    expect({ status, card: decodeConversationCard(text) }).toMatchObject({
      status: 200,
      card: { conversationId: 'alice-bob', type: 'direct', participants: ['alice', 'bob'] },
    });
    expect((await sandbox.ask('GET', '/internal/conversations/nope/card')).status).toBe(404);
  });

  test('ids with any character are found by their percent-encoded path', async () => {
    const id = 'a/b?ü %__proto__';
    await sandbox.ask('PUT', `/admin/users/${encodeURIComponent(id)}`, { display_name: 'Odd' });
    expect((await sandbox.ask('GET', `/internal/users/${encodeURIComponent(id)}/card`)).body).toEqual({ user_id: id, display_name: 'Odd' });
  });

  test('a sync, which the protocol package decodes', async () => {
    await post(bob, direct, 'Did you see it?');
    const { text } = await sandbox.ask('POST', '/internal/sync', { user_id: 'alice', conversations: { team: 1 }, since_ms: 0 });
    const page = decodeSyncPage(Buffer.from(text));
    expect(page?.conversations.find((row) => row.conversationId === 'alice-bob')).toMatchObject({ type: 'direct', peerId: 'bob' });
    expect(page?.events.find((event) => Buffer.from(event.payload).includes('Did you see it?'))).toMatchObject({
      type: 'message.new',
      conversationId: 'alice-bob',
      senderId: 'bob',
      eventId: expect.any(String),
    });
    expect(page?.nextPage).toBeUndefined();
  });

  test.each([
    ['no user', {}],
    ['a list of conversations', { user_id: 'alice', conversations: [] }],
    ['a seq that is text', { user_id: 'alice', conversations: { team: '7' } }],
    ['a negative seq', { user_id: 'alice', conversations: { team: -1 } }],
    ['a page of nobody', { user_id: 'alice', page: 'x/m.0.0' }],
  ])('a sync with %s is refused', async (_what, body) => {
    expect((await sandbox.ask('POST', '/internal/sync', body)).status).toBe(400);
  });

  test('with tokens, strangers are kept out of /internal and /admin', async () => {
    const guarded = await startSandbox({ REDIS_URL: server.url, OWNER_TOKEN: 'owner', ADMIN_TOKEN: 'admin' });
    const path = '/internal/users/alice/card';
    expect((await guarded.ask('GET', path)).status).toBe(401);
    expect((await guarded.ask('GET', path, undefined, { authorization: 'Bearer admin' })).status).toBe(401);
    expect((await guarded.ask('GET', path, undefined, { authorization: 'Bearer owner' })).status).toBe(200);
    expect((await guarded.ask('POST', '/admin/rotate-keys')).status).toBe(401);
    expect((await guarded.ask('POST', '/admin/rotate-keys', undefined, { authorization: 'Bearer admin' })).status).toBe(200);
    await guarded.stop();
  });
});

test('with pub/sub the events go over the channel', async () => {
  const received: unknown[] = [];
  redis.subscriber.subscribe('messenger.events', (text) => received.push(JSON.parse(text)));
  await eventually(async () => {
    const reply = (await redis.command.call('PUBSUB', 'NUMSUB', 'messenger.events')) as [string, number];
    return reply[1] === 1;
  });
  const starter = await startSandbox({ REDIS_URL: server.url, FANOUT: 'pubsub' });
  const user = await starter.as('alice');
  await user('POST', `${direct}/messages`, { text: 'Over the air' });
  await eventually(() => JSON.stringify(received).includes('Over the air'));
  expect(received.at(-1)).toMatchObject({ type: 'message.new', recipients: ['alice', 'bob'], conversation_id: 'alice-bob' });
  await starter.stop();
});

import { afterEach, expect, test, vi } from 'vitest';
import { settle } from '../test/fake-clock.js';
import { message, startClient } from '../test/start-client.js';
import { GatewayClient } from './gateway-client.js';
import type { StaleCards } from './stale-cards.js';

afterEach(() => vi.unstubAllGlobals());

test('without a WebSocket it says so at once, in one sentence', () => {
  vi.stubGlobal('WebSocket', undefined);
  expect(() => new GatewayClient({ url: 'wss://chat.test/ws', token: () => 't' })).toThrow(
    /^No WebSocket on this platform: pass one as the option `webSocket`[^.]*\.$/,
  );
});

test('the token travels as a subprotocol, not in the URL', async () => {
  const { socket } = await startClient();
  expect(socket().protocols).toEqual(['bearer', 'h.p.s']);
  expect(socket().url.href).toBe('wss://chat.test/api/v1/ws');
});

test('or in the query, where that is wanted', async () => {
  const { socket } = await startClient({ tokenIn: 'query' });
  expect(socket().protocols).toEqual([]);
  expect(socket().url.search).toBe('?token=h.p.s');
});

test('an http address, and a function that is asked at every attempt', async () => {
  const urls = ['https://a.test/ws', 'http://b.test/ws'];
  const { socket, clock } = await startClient({ url: () => urls.shift() ?? '' });
  expect(socket().url.href).toBe('wss://a.test/ws');
  socket().refuse();
  await clock.advance(5_000);
  expect(socket().url.href).toBe('ws://b.test/ws');
});

test('the first state is idle, then connecting, then online', async () => {
  const { client, socket, heard } = await startClient();
  socket().hello();
  expect(heard('status').map(({ state }) => state)).toEqual(['connecting', 'online']);
  expect([client.state, client.userId]).toEqual(['online', 'u1']);
});

test('a lost connection that never was one is still "connecting" for a UI', async () => {
  const { client, socket } = await startClient();
  socket().refuse();
  expect(client.state).toBe('connecting');
});

test('connect() twice is once', async () => {
  const { client, sockets, clock } = await startClient();
  client.connect();
  await clock.advance(0);
  expect(sockets.length).toBe(1);
});

test('events come under their name and as `event`, a new message also as `message`', async () => {
  const { socket, heard } = await startClient();
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  socket().frame({ type: 'reaction.added', cursor: '102-0', conversation_id: 'c1', data: { emoji: 'x' } });
  socket().frame({ type: 'order.paid', cursor: '103-0', data: {} });
  expect(heard('event').map(({ type }) => type)).toEqual(['message.new', 'reaction.added', 'order.paid']);
  expect([heard('message').length, heard('message.new').length, heard('reaction.added').length]).toEqual([1, 1, 1]);
});

test('a messenger’s type is listened to by its name when that has a dot, and cannot pass for one of the client’s own', async () => {
  const { client, socket, heard } = await startClient();
  const paid: unknown[] = [];
  client.on('order.paid', (frame) => paid.push(frame.data));
  socket().hello();
  socket().frame({ type: 'order.paid', cursor: '101-0', data: 7 });
  for (const [index, type] of ['status', 'synced', 'message', 'event', '__proto__'].entries())
    socket().frame({ type, cursor: `${102 + index}-0`, data: {} });
  expect(paid).toEqual([7]);
  expect(heard('status').every((status) => 'state' in status)).toBe(true);
  expect([heard('synced').length, heard('message').length, heard('event').length]).toEqual([0, 0, 6]);
});

test('a reserved name that this client does not know yet is not an event', async () => {
  const { socket, heard } = await startClient();
  socket().hello();
  for (const type of ['presence.batch', 'sync.progress', 'token.revoked', 'auth.failed']) socket().frame({ type, cursor: '101-0' });
  expect(heard('event')).toEqual([]);
});

test('garbage is not heard and breaks nothing', async () => {
  const { socket, messageIds } = await startClient();
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '7',
    '{}',
    '{"type":7}',
    '{"type":"error"}',
    '{"type":"error","error":{}}',
    '{"type":"sync.complete"}',
    '{"type":"presence"}',
    '{"type":"presence.snapshot"}',
    '{"type":"message.new"}',
    '{"type":"message.new","message":null}',
    '{"type":"message.edited","message":7,"conversation_id":"c1"}',
    '{"type":"sync.required"}',
    '{"type":"typing"}',
    '{"type":"reconnect"}',
  ]) {
    socket().text(text);
  }
  socket().text(new ArrayBuffer(4));
  socket().frame(message(2, { cursor: '102-0' }));
  expect(messageIds()).toEqual(['c1.m1', 'c1.m2']);
});

test('a listener that throws costs neither the others nor the client', async () => {
  const uncaught: unknown[] = [];
  vi.stubGlobal('queueMicrotask', (run: () => void) => {
    try {
      run();
    } catch (error) {
      uncaught.push(error);
    }
  });
  const { client, socket } = await startClient();
  const seen: unknown[] = [];
  client.on('message', () => {
    throw new Error('in the application');
  });
  client.on('message', (frame) => seen.push(frame.message.seq));
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  socket().frame(message(2, { cursor: '102-0' }));
  expect(seen).toEqual([1, 2]);
  expect(uncaught).toHaveLength(2);
});

test('a listener can be taken off again', async () => {
  const { client, socket } = await startClient();
  const seen: unknown[] = [];
  const stop = client.on('message', (frame) => seen.push(frame));
  stop();
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  expect(seen).toEqual([]);
});

test('an event says how it came, and carries its text for numbers that JavaScript cannot hold', async () => {
  const { client, socket } = await startClient();
  const origins: unknown[] = [];
  client.on('message', (_frame, origin) => origins.push(origin));
  socket().hello();
  const text = '{"type":"message.new","cursor":"101-0","conversation_id":"c1","message":{"id":"m1","seq":1,"n":123456789012345678901}}';
  socket().text(text);
  expect(origins).toEqual([{ source: 'live', raw: text }]);
});

test('a message that comes live and by a sync is one', async () => {
  const { client, socket, messageIds } = await startClient();
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  client.sync();
  for (const seq of [1, 2]) socket().frame(message(seq));
  socket().frame(message(2, { cursor: '102-0' }));
  expect(messageIds()).toEqual(['c1.m1', 'c1.m2']);
});

test('a sync repeats nothing, also beyond what the memory of ids holds', async () => {
  const { client, socket, messageIds } = await startClient();
  socket().hello();
  for (let seq = 1; seq <= 10_050; seq++) socket().frame(message(seq, { cursor: `${100 + seq}-0` }));
  client.sync();
  socket().frame(message(1));
  expect(messageIds()).toHaveLength(10_050);
});

test('a live message is never taken for a repetition by its seq (a messenger restored from a backup)', async () => {
  const { socket, messageIds } = await startClient();
  socket().hello();
  socket().frame(message(500, { cursor: '101-0' }));
  socket().frame(message(3, { cursor: '102-0', id: 'after the restore' }));
  expect(messageIds()).toEqual(['c1.m500', 'after the restore']);
});

test('a durable frame that is not above the cursor is dropped', async () => {
  const { socket, messageIds } = await startClient();
  socket().hello();
  socket().frame(message(1, { cursor: '100-0' }));
  socket().frame(message(2, { cursor: '99-0' }));
  expect(messageIds()).toEqual([]);
});

test('an event with a known id is one, by whatever way it comes', async () => {
  const { client, socket, heard } = await startClient();
  socket().hello();
  const added = { type: 'reaction.added', event_id: 'e1', conversation_id: 'c1', data: {} };
  socket().frame({ ...added, cursor: '101-0' });
  client.sync();
  socket().frame(added);
  socket().frame({ type: 'sync.complete', ref: '1', conversations: {}, presence: [], has_more: false, cursor: '101-0' });
  socket().frame({ ...added, cursor: '102-0' });
  expect(heard('reaction.added')).toHaveLength(1);
});

test('a change that a hole had swallowed does not have the last word over a newer one', async () => {
  const { client, socket, heard } = await startClient();
  const edit = (version: number): object => ({
    type: 'message.edited',
    event_id: `e${version}`,
    conversation_id: 'c1',
    message: { id: 'c1.m1', text: `v${version}` },
  });
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  socket().frame({ ...edit(2), cursor: '103-0' });
  client.sync();
  socket().frame({ ...edit(3), cursor: '104-0' });
  for (const version of [1, 2]) socket().frame(edit(version));
  socket().frame({ type: 'sync.complete', ref: '1', conversations: {}, presence: [], has_more: false, cursor: '103-0' });
  expect(heard('message.edited').map((frame) => frame.message?.text)).toEqual(['v2', 'v1', 'v2', 'v3']);
});

test('typing goes out once in two seconds per dialog, and not at all without a connection', async () => {
  const { client, socket, clock } = await startClient();
  expect(client.typing('c1')).toBe(false);
  socket().hello();
  await clock.advance(2_000);
  expect([client.typing('c1'), client.typing('c1')]).toEqual([true, false]);
  expect(socket().sentOf('typing')).toEqual([{ type: 'typing', conversation_id: 'c1' }]);
});

test('who sends the message has stopped typing it', async () => {
  const { client, socket, heard } = await startClient();
  socket().hello();
  socket().frame({ type: 'typing', conversation_id: 'c1', user_id: 'u2', user_name: 'Ann' });
  expect(client.typingIn('c1')).toHaveLength(1);
  socket().frame(message(1, { cursor: '101-0', sender: 'u2' }));
  expect(heard('typing')).toEqual([
    { conversation_id: 'c1', user_id: 'u2', user_name: 'Ann', active: true },
    { conversation_id: 'c1', user_id: 'u2', user_name: 'Ann', active: false },
  ]);
});

test('presence is news, a snapshot, and unknown when the connection has been away for long', async () => {
  const { client, socket, clock, heard } = await startClient();
  socket().hello();
  socket().frame({ type: 'presence', user_id: 'u2', status: 'online', at_ms: 10 });
  socket().frame({
    type: 'presence.snapshot',
    presence: [{ user_id: 'u3', status: 'offline', at_ms: 20, last_seen: '2026-01-01T00:00:00Z' }],
  });
  expect(client.presence.of('u3')?.last_seen).toBe('2026-01-01T00:00:00Z');
  socket().serverClose(1006);
  await clock.advance(29_000);
  expect(client.presence.of('u3')?.status).toBe('offline');
  await clock.advance(1_000);
  expect(client.presence.of('u3')?.status).toBe('unknown');
  expect(heard('presence').map(({ user_id, status }) => `${user_id} ${status}`)).toEqual([
    'u2 online',
    'u3 offline',
    'u2 unknown',
    'u3 unknown',
  ]);
});

test('a short reconnect does not make anybody unknown', async () => {
  const { client, socket, clock } = await startClient();
  socket().hello();
  socket().frame({ type: 'presence', user_id: 'u2', status: 'online', at_ms: 10 });
  socket().serverClose(1006);
  await clock.advance(5_000);
  socket().hello({ resumed: true });
  await clock.advance(28_000);
  expect(client.presence.of('u2')?.status).toBe('online');
});

test('a closed client claims nothing about anybody', async () => {
  const { client, socket, heard } = await startClient();
  socket().hello();
  socket().frame({ type: 'presence', user_id: 'u2', status: 'online', at_ms: 10 });
  socket().frame({ type: 'typing', conversation_id: 'c1', user_id: 'u2' });
  await client.close();
  expect(client.presence.of('u2')?.status).toBe('unknown');
  expect(heard('typing').at(-1)?.active).toBe(false);
});

test('close() says when the state is stored', async () => {
  const saved: (string | undefined)[] = [];
  const storage = {
    load: () => undefined,
    save: async ({ cursor }: { cursor?: string | undefined }) => {
      await settle();
      saved.push(cursor);
    },
  };
  const { client, socket } = await startClient({ storage });
  socket().hello();
  socket().frame(message(1, { cursor: '101-0' }));
  await client.close();
  expect(saved).toEqual(['101-0']);
});

test('stale cards are named to the application, once in half a minute', async () => {
  const asked: StaleCards[] = [];
  const { socket, clock } = await startClient({ refetch: (cards) => asked.push(cards) });
  socket().hello({ heartbeat_ms: 600_000 });
  for (const seq of [1, 2]) socket().frame({ ...message(seq, { cursor: `${100 + seq}-0` }), stale: true });
  socket().frame(message(3, { cursor: '103-0' }));
  socket().frame({ type: 'typing', conversation_id: 'c1', user_id: 'u9', user_name: '…', stale: true });
  expect(asked.map(({ user_id, conversation_id }) => [user_id, conversation_id])).toEqual([
    ['u2', 'c1'],
    ['u9', 'c1'],
  ]);
  await clock.advance(30_000);
  socket().frame({ ...message(4, { cursor: '104-0' }), stale: true });
  expect(asked).toHaveLength(3);
});

test('another user’s token on the same client ends it: what is stored belongs to the first', async () => {
  const { client, socket, clock, sockets } = await startClient();
  socket().hello({ user_id: 'u1' });
  socket().serverClose(1006);
  await clock.advance(5_000);
  socket().hello({ user_id: 'u7', resumed: true });
  socket().frame(message(1, { cursor: '101-0' }));
  expect(client.status).toMatchObject({ state: 'closed', reason: 'user_changed' });
  await clock.advance(60_000);
  expect(sockets.length).toBe(2);
});

test('the state is stored with the user, and a stored one is not taken for another user’s', async () => {
  const saved: unknown[] = [];
  const storage = {
    load: () => ({ version: 1, user_id: 'u7', cursor: '9-0', last_seq: {} }),
    save: (state: unknown) => void saved.push(state),
  };
  const { client, socket } = await startClient({ storage });
  socket().hello({ user_id: 'u1' });
  expect(client.status.reason).toBe('user_changed');
});

test('what waited when the client was closed goes on waiting when it is started again', async () => {
  const { client, socket, clock, messageIds } = await startClient();
  socket().hello();
  for (const [seq, cursor] of [
    [1, '101-0'],
    [3, '102-0'],
  ] as const)
    socket().frame(message(seq, { cursor }));
  await client.close();
  client.connect();
  await clock.advance(0);
  socket().hello({ resumed: true, cursor: '102-0' });
  await clock.advance(1_000);
  expect(socket().sentOf('sync')).toMatchObject([{ conversations: { c1: 1 } }]);
  await clock.advance(8_000);
  expect(messageIds()).toEqual(['c1.m1', 'c1.m3']);
});

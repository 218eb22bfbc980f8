import { expect, test, vi } from 'vitest';
import { settle } from '../test/fake-clock.js';
import { message, startClient } from '../test/start-client.js';

test('a lost connection comes back within the first window, then backs off', async () => {
  const { sockets, socket, clock, client } = await startClient();
  socket().hello();
  socket().serverClose(1006);
  expect(client.status).toMatchObject({ state: 'reconnecting', reason: 'network', closeCode: 1006, retryInMs: 2_500 });
  await clock.advance(2_499);
  expect(sockets.length).toBe(1);
  await clock.advance(1);
  expect(sockets.length).toBe(2);
  const waits: (number | undefined)[] = [];
  for (let i = 0; i < 5; i++) {
    socket().refuse();
    waits.push(client.status.retryInMs);
    await clock.advance(client.status.retryInMs ?? 0);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000]);
});

test('an open socket earns no credit, a stable one does', async () => {
  const { socket, clock, client } = await startClient();
  for (const wait of [2_500, 1_000, 2_000]) {
    socket().hello();
    await clock.advance(29_000);
    socket().frame({ type: 'pong' });
    socket().serverClose(1006);
    expect(client.status.retryInMs).toBe(wait);
    await clock.advance(wait);
  }
  socket().hello();
  await clock.advance(20_000);
  socket().frame({ type: 'pong' });
  await clock.advance(10_000);
  socket().serverClose(1006);
  expect(client.status.retryInMs).toBe(2_500);
});

test('a drain is followed by the wait that the gateway asked for', async () => {
  const { sockets, socket, clock, client } = await startClient();
  socket().hello();
  socket().frame({ type: 'reconnect', after_ms: 1_234, cursor: '120-0' });
  socket().serverClose(1012);
  expect(client.status).toMatchObject({ reason: 'drain', retryInMs: 1_234 });
  await clock.advance(1_234);
  expect(sockets.length).toBe(2);
  expect(socket().cursor).toBe('120-0');
});

test('a 1012 without a word before it is drawn from the window', async () => {
  const { socket, client } = await startClient();
  socket().hello();
  socket().serverClose(1012);
  expect(client.status.retryInMs).toBe(2_500);
});

test('a hint is for the close that follows it, not for a later one', async () => {
  const { socket, clock, client } = await startClient();
  socket().hello();
  socket().frame({ type: 'reconnect', after_ms: 10, cursor: '120-0' });
  socket().serverClose(1012);
  await clock.advance(10);
  socket().hello({ resumed: true });
  socket().serverClose(1006);
  expect(client.status.retryInMs).toBe(1_000);
});

test('nor for one after a pause that came between', async () => {
  const { socket, clock, client, page } = await startClient();
  socket().hello();
  socket().frame({ type: 'reconnect', after_ms: 10, cursor: '120-0' });
  page.signal('freeze');
  page.signal('wake');
  await clock.advance(1_000);
  socket().hello({ resumed: true });
  socket().serverClose(1006);
  expect(client.status.retryInMs).toBe(2_500);
});

test.each([
  [4403, 'administrator'],
  [4409, 'replaced'],
])('%i is for good: closed, and not retried', async (code, reason) => {
  const { sockets, socket, clock, client } = await startClient();
  socket().hello();
  socket().serverClose(code);
  expect(client.status).toMatchObject({ state: 'closed', reason, closeCode: code });
  await clock.advance(3_600_000);
  expect(sockets.length).toBe(1);
  expect(clock.pending).toBe(0);
});

test('connect() is the way back from it', async () => {
  const { sockets, socket, client, clock } = await startClient();
  socket().hello();
  socket().serverClose(4409);
  client.connect();
  await clock.advance(0);
  expect(sockets.length).toBe(2);
  socket().hello({ resumed: true });
  expect(client.state).toBe('online');
});

test.each([1009, 4400, 4408, 4429, 4508, 1000, 1001])('%i is retried with back-off', async (code) => {
  const { sockets, socket, clock } = await startClient();
  socket().hello();
  socket().serverClose(code);
  await clock.advance(5_000);
  expect(sockets.length).toBe(2);
});

test('after 4401 the provider is asked for a fresh token', async () => {
  const token = vi.fn(({ refresh }: { refresh: boolean }) => (refresh ? 'fresh' : 'cached'));
  const { socket, clock } = await startClient({ token });
  expect(socket().protocols).toEqual(['bearer', 'cached']);
  socket().hello();
  socket().serverClose(4401);
  await clock.advance(5_000);
  expect(socket().protocols).toEqual(['bearer', 'fresh']);
  socket().hello({ resumed: true });
  socket().serverClose(1006);
  await clock.advance(5_000);
  expect(socket().protocols).toEqual(['bearer', 'cached']);
});

test('every third attempt without a hello suspects the token, for a browser is not told of a 401', async () => {
  const asked: boolean[] = [];
  const { socket, clock, client } = await startClient({ token: ({ refresh }) => (asked.push(refresh), 't') });
  for (let i = 0; i < 5; i++) {
    socket().refuse();
    await clock.advance(client.status.retryInMs ?? 0);
  }
  expect(asked).toEqual([false, false, true, false, false, true]);
});

test('a provider that fails is an attempt that failed', async () => {
  let failures = 2;
  const { sockets, clock, client, heard } = await startClient({
    token: async () => {
      if (failures-- > 0) throw new Error('auth is down');
      return 't';
    },
  });
  expect(client.status).toMatchObject({ state: 'connecting', reason: 'token_unavailable', retryInMs: 2_500 });
  expect(heard('error')[0]).toMatchObject({ code: 'token_unavailable', message: 'auth is down' });
  await clock.advance(5_000);
  expect(sockets.length).toBe(1);
});

test('null from the provider: nobody is signed in, and the client closes', async () => {
  const { sockets, client, clock } = await startClient({ token: () => null });
  expect(client.status).toMatchObject({ state: 'closed', reason: 'signed_out' });
  await clock.advance(3_600_000);
  expect(sockets.length).toBe(0);
});

test('a provider that never answers does not stop the client', async () => {
  let asked = 0;
  const { clock, client, sockets } = await startClient({ token: () => (asked++ === 0 ? new Promise(() => {}) : 't') });
  await clock.advance(15_000);
  expect(client.status).toMatchObject({ reason: 'connect_timeout' });
  await clock.advance(5_000);
  expect(sockets.length).toBe(1);
});

test('a token that comes for an attempt that was given up is not used', async () => {
  const answers: ((token: string) => void)[] = [];
  const { clock, sockets } = await startClient({ token: () => new Promise((resolve) => answers.push(resolve)) });
  await clock.advance(20_000);
  answers[0]?.('old');
  await settle();
  expect(sockets.length).toBe(0);
  answers[1]?.('new');
  await settle();
  expect(sockets.map(({ protocols }) => protocols[1])).toEqual(['new']);
});

test('a socket that opens and says nothing is given up', async () => {
  const { socket, sockets, clock } = await startClient();
  socket().open();
  await clock.advance(15_000);
  expect(socket().closedByClient).toBe(1000);
  await clock.advance(5_000);
  expect(sockets.length).toBe(2);
});

test('what an abandoned socket still says is not heard', async () => {
  const { sockets, socket, clock, heard, client } = await startClient();
  socket().hello();
  await clock.advance(35_000);
  expect(sockets.length).toBe(2);
  const [old] = sockets;
  if (old !== undefined) old.readyState = 1;
  old?.frame({ type: 'message.new', cursor: '900-0', conversation_id: 'c1', message: { id: 'm', seq: 1 } });
  old?.serverClose(4403);
  expect(heard('message')).toEqual([]);
  expect(sockets.length).toBe(2);
  expect(client.state).toBe('reconnecting');
});

test('silence after a ping reconnects', async () => {
  const { socket, clock, client } = await startClient();
  socket().hello({ heartbeat_ms: 10_000 });
  await clock.advance(10_000);
  expect(socket().sentOf('ping')).toHaveLength(1);
  await clock.advance(10_000);
  expect(client.status).toMatchObject({ state: 'reconnecting', reason: 'heartbeat' });
});

test('a constructor that throws is an attempt that failed', async () => {
  const { client, heard } = await startClient({
    webSocket: class {
      onopen: unknown;
      onmessage: unknown;
      onclose: unknown;
      onerror: unknown;
      readonly readyState = 3;
      constructor() {
        throw new SyntaxError('the token has a space');
      }
      send(): void {}
      close(): void {}
    },
  });
  expect(client.status).toMatchObject({ state: 'connecting', reason: 'connect_failed' });
  expect(heard('error')[0]).toMatchObject({ code: 'connect_failed', message: 'the token has a space' });
});

test('closing leaves no timer, no listener and no open socket, at any moment', async () => {
  const moments: ((started: Awaited<ReturnType<typeof startClient>>) => void)[] = [
    () => {},
    ({ socket }) => socket().open(),
    ({ socket }) => socket().hello(),
    ({ socket }) => (socket().hello(), socket().frame({ type: 'typing', conversation_id: 'c', user_id: 'u2' })),
    ({ socket }) => (socket().hello(), socket().frame({ type: 'sync.required', reason: 'gap', cursor: '110-0', after_ms: 3_000 })),
    ({ socket }) => (socket().hello(), socket().serverClose(1006)),
    ({ socket, page }) => ((page.offline = true), socket().hello(), socket().serverClose(1006)),
  ];
  for (const moment of moments) {
    const started = await startClient();
    moment(started);
    await started.client.close();
    expect(started.clock.pending).toBe(0);
    expect(started.page.isHeard).toBe(false);
    expect(started.socket().readyState).toBe(3);
    expect(started.client.status).toMatchObject({ state: 'closed', reason: 'closed' });
  }
});

test('after close() nothing is connected any more, whatever was still on its way', async () => {
  let answer: (token: string) => void = () => {};
  const { client, sockets, clock } = await startClient({ token: () => new Promise((resolve) => (answer = resolve)) });
  await client.close();
  answer('t');
  await clock.advance(3_600_000);
  expect(sockets.length).toBe(0);
});

test.each(['connecting', 'waiting', 'failed', 'down'])('a listener that closes the client while it is %s has closed it', async (moment) => {
  let isDown = false;
  const token = async (): Promise<string> => {
    if (isDown && moment === 'failed') throw new Error('auth is down');
    return 't';
  };
  const { client, clock, socket, sockets } = await startClient({ token });
  socket().hello();
  // A message behind a gap waits; while a sync is under way, a change does, and is handed out when the connection is lost.
  socket().frame(message(1, { cursor: '101-0' }));
  client.sync();
  socket().frame({ type: 'reaction.added', cursor: '102-0', conversation_id: 'c1', data: {} });
  let isLeaving = true;
  const close = (): void => void (isLeaving && client.close());
  if (moment === 'connecting')
    client.on('status', ({ state, retryInMs }) => state === 'reconnecting' && retryInMs === undefined && close());
  if (moment === 'waiting') client.on('status', ({ retryInMs }) => retryInMs !== undefined && close());
  if (moment === 'failed') client.on('error', close);
  if (moment === 'down') client.on('reaction.added', close);
  isDown = true;
  socket().serverClose(1006);
  await clock.advance(60_000);
  expect(client.status).toMatchObject({ state: 'closed', reason: 'closed' });
  expect([sockets.length, clock.pending]).toEqual([1, 0]);
  isDown = isLeaving = false;
  client.connect();
  await clock.advance(0);
  expect(sockets.length).toBe(2);
});

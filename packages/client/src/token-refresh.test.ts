import { expect, test, vi } from 'vitest';
import { startClient } from '../test/start-client.js';

test('token.expiring fetches a new token and hands it over in band', async () => {
  const token = vi.fn(({ refresh }: { refresh: boolean }) => (refresh ? 'fresh' : 'first'));
  const { socket, clock } = await startClient({ token });
  socket().hello();
  socket().frame({ type: 'token.expiring', expires_in_ms: 60_000 });
  await clock.advance(0);
  expect(socket().sentOf('auth')).toEqual([{ type: 'auth', token: 'fresh' }]);
});

test('a refresh that fails is tried again while the old token lasts', async () => {
  let calls = 0;
  const { socket, clock, heard } = await startClient({
    token: async ({ refresh }) => {
      if (refresh && ++calls < 3) throw new Error('auth is down');
      return 't';
    },
  });
  socket().hello();
  socket().frame({ type: 'token.expiring', expires_in_ms: 60_000 });
  await clock.advance(10_000);
  expect(socket().sentOf('auth')).toHaveLength(1);
  expect(heard('error').map(({ code }) => code)).toEqual(['token_unavailable', 'token_unavailable']);
});

const postponed = (retryAfterMs?: number) => ({
  type: 'error',
  error: { code: 'rate_limited', message: 'the token cannot be verified now', retry_after_ms: retryAfterMs },
});

test('a token that cannot be judged now is sent again when the gateway says so, until it is taken', async () => {
  const token = vi.fn(({ refresh }: { refresh: boolean }) => (refresh ? 'fresh' : 'first'));
  const { socket, clock } = await startClient({ token });
  socket().hello();
  socket().frame({ type: 'token.expiring', expires_in_ms: 60_000 });
  await clock.advance(0);
  socket().frame(postponed(4_000));
  await clock.advance(3_999);
  expect(socket().sentOf('auth')).toHaveLength(1);
  // A quarter more: half of 0.5.
  await clock.advance(1_001);
  expect(socket().sentOf('auth')).toHaveLength(2);
  socket().frame(postponed(4_000));
  await clock.advance(5_000);
  expect(socket().sentOf('auth')).toEqual([0, 1, 2].map(() => ({ type: 'auth', token: 'fresh' })));
  socket().frame(postponed(4_000));
  socket().frame({ type: 'auth.ok', expires_in_ms: 600_000 });
  await clock.advance(5_000);
  expect(socket().sentOf('auth')).toHaveLength(3);
  expect(token).toHaveBeenCalledTimes(2);
});

test('a gateway that names no wait, however often, gets the token once in a second or so', async () => {
  const { socket, clock } = await startClient();
  socket().hello();
  socket().frame({ type: 'token.expiring', expires_in_ms: 60_000 });
  await clock.advance(0);
  for (const [index, wait] of [undefined, 0, -1].entries()) {
    socket().frame(postponed(wait));
    await clock.advance(999);
    socket().frame(postponed(wait));
    expect(socket().sentOf('auth')).toHaveLength(index + 1);
    await clock.advance(251);
    expect(socket().sentOf('auth')).toHaveLength(index + 2);
  }
});

test('a token is sent again on its own connection only, and for no error about something else', async () => {
  const { socket, sockets, clock, heard } = await startClient();
  socket().hello();
  socket().frame(postponed(1_000));
  socket().frame({ type: 'token.expiring', expires_in_ms: 60_000 });
  await clock.advance(0);
  socket().frame({ type: 'error', error: { code: 'unknown_type', message: '' } });
  socket().frame({ type: 'error', error: { code: 'rate_limited', message: '', ref: '7' } });
  await clock.advance(10_000);
  expect(socket().sentOf('auth')).toHaveLength(1);
  socket().frame(postponed(8_000));
  socket().serverClose(1006);
  await clock.advance(5_000);
  socket().hello({ resumed: true });
  await clock.advance(20_000);
  expect([sockets.length, socket().sentOf('auth')]).toEqual([2, []]);
  expect(heard('error')).toHaveLength(4);
});

test('a fresh token that comes when its connection is gone is not brought to the next one', async () => {
  let answer: (token: string) => void = () => {};
  const token = ({ refresh }: { refresh: boolean }) => (refresh ? new Promise<string>((resolve) => (answer = resolve)) : 'first');
  const { socket, clock } = await startClient({ token });
  socket().hello();
  socket().frame({ type: 'token.expiring', expires_in_ms: 60_000 });
  socket().serverClose(1006);
  await clock.advance(5_000);
  socket().hello({ resumed: true });
  answer('late');
  await clock.advance(10_000);
  expect(socket().sentOf('auth')).toEqual([]);
});

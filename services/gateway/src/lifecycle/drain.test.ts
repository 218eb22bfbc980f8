import type { StreamId } from '@event-gateway/protocol';
import { expect, test } from 'vitest';
import { liveConnection, testContext } from '../../test/connections.js';
import { Drain } from './drain.js';

function replica(count: number, windowMs: number) {
  const context = testContext();
  const opened = Array.from({ length: count }, () => liveConnection(context));
  const drain = new Drain(
    {
      clock: context.clock,
      connections: () => opened.map(({ connection }) => connection).filter(({ isOpen }) => isOpen),
      cursorFor: (connection) => (connection === opened[0]?.connection ? undefined : ('7-0' as StreamId)),
    },
    { windowMs, reconnectJitterMs: 5000 },
  );
  return { context, opened, drain };
}

test('closes are spread evenly over the window', async () => {
  const { context, opened, drain } = replica(200, 10_000);
  const done = drain.closeAll(new AbortController().signal);
  const left: number[] = [];
  for (let i = 0; i < 4; i++) {
    left.push(opened.filter(({ connection }) => connection.isOpen).length);
    await context.clock.advance(2500);
  }
  await done;
  expect(opened.every(({ connection }) => !connection.isOpen)).toBe(true);
  for (const [i, expected] of [200, 150, 100, 50].entries()) expect(Math.abs((left[i] ?? 0) - expected)).toBeLessThan(5);
});

test('each is told once when to come back and where it stands, then closed with 1012', async () => {
  const { context, opened, drain } = replica(50, 1000);
  const done = drain.closeAll(new AbortController().signal);
  await context.clock.advance(1000);
  await done;
  for (const { socket } of opened) {
    expect(socket.types()).toEqual(['reconnect']);
    expect(socket.closed?.code).toBe(1012);
  }
  const afters = opened.map(({ socket }) => Number(socket.sent[0]?.['after_ms']));
  expect(new Set(afters).size).toBeGreaterThan(40);
  expect(Math.max(...afters)).toBeLessThanOrEqual(5000);
  // A socket that catches up is given no cursor: it would skip what it has yet to be told.
  expect(opened.map(({ socket }) => socket.sent[0]?.['cursor'])).toEqual([undefined, ...Array<string>(49).fill('7-0')]);
});

test('a socket that opens during the drain is told too, and keeps nobody waiting beyond the window', async () => {
  const { context, opened, drain } = replica(3, 10_000);
  let isDone = false;
  const done = drain.closeAll(new AbortController().signal).then(() => {
    isDone = true;
  });
  await context.clock.advance(3000);
  const late = liveConnection(context);
  opened.push(late);
  await context.clock.advance(7100);
  expect(isDone).toBe(true);
  await done;
  expect(late.socket.types()).toEqual(['reconnect']);
  expect(late.socket.closed?.code).toBe(1012);
});

test('a window of nothing closes all at once, an abort ends the wait', async () => {
  const quick = replica(10, 0);
  await quick.drain.closeAll(new AbortController().signal);
  expect(quick.opened.every(({ connection }) => !connection.isOpen)).toBe(true);

  const slow = replica(10, 60_000);
  const abort = new AbortController();
  const done = slow.drain.closeAll(abort.signal);
  abort.abort();
  await done;
  expect(slow.drain.isDraining).toBe(true);
});

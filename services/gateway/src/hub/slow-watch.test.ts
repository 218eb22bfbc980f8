import { expect, test } from 'vitest';
import { liveConnection, testContext } from '../../test/connections.js';
import { SlowWatch } from './slow-watch.js';

function fallBehind(context = testContext(100)) {
  const opened = liveConnection(context);
  opened.socket.stall();
  for (let n = 1; n <= 5; n++) if (opened.connection.enqueue(Buffer.alloc(60, 'x'), 'message.new', n, `${n}-0`)) opened.connection.flush();
  return { context, ...opened };
}

test('a full socket that takes nothing for the whole time is closed with 4508', async () => {
  const { context, connection, socket } = fallBehind();
  const watch = new SlowWatch(context.clock, 30_000);
  watch.add(connection);
  watch.start();
  await context.clock.advance(29_000);
  expect(connection.isOpen).toBe(true);
  await context.clock.advance(2000);
  expect(socket.closed?.code).toBe(4508);
  watch.stop();
});

test('a socket that takes something now and then is kept, one that has caught up is forgotten', async () => {
  const { context, connection, socket } = fallBehind();
  const watch = new SlowWatch(context.clock, 30_000);
  watch.add(connection);
  watch.start();
  await context.clock.advance(20_000);
  socket.drain(30);
  connection.onDrain();
  await context.clock.advance(20_000);
  expect(connection.isOpen).toBe(true);
  socket.drain();
  connection.onDrain();
  await context.clock.advance(60_000);
  expect(connection.isOpen).toBe(true);
  watch.stop();
});

test('a socket that takes nothing of a replay or a sync is closed as well, however lively it asks', async () => {
  const context = testContext(100);
  const { connection, socket } = liveConnection(context);
  const watch = new SlowWatch(context.clock, 30_000);
  watch.start();
  socket.stall();
  while (connection.writeSynced(Buffer.alloc(60, 'x'), 'message.new') === 'written');
  void connection.drained();
  for (const behind of context.slow) watch.add(behind);
  await context.clock.advance(29_000);
  connection.onActivity();
  expect(connection.isOpen).toBe(true);
  await context.clock.advance(2000);
  expect(socket.closed?.code).toBe(4508);
  watch.stop();
});

test('one that has taken what it was sent, and for which nobody waits any more, is forgotten', async () => {
  const context = testContext(100);
  const { connection, socket } = liveConnection(context);
  const watch = new SlowWatch(context.clock, 30_000);
  watch.start();
  socket.stall();
  while (connection.writeSynced(Buffer.alloc(60, 'x'), 'message.new') === 'written');
  const drained = connection.drained();
  for (const behind of context.slow) watch.add(behind);
  socket.drain();
  connection.onDrain();
  await drained;
  await context.clock.advance(60_000);
  expect(connection.isOpen).toBe(true);
  watch.stop();
});

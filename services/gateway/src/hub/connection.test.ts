import type { StreamId } from '@event-gateway/protocol';
import { expect, test } from 'vitest';
import { greetingConnection, hello, liveConnection, testContext } from '../../test/connections.js';
import type { Connection } from './connection.js';

const frame = (n: number, bytes = 0): Buffer => Buffer.from(JSON.stringify({ type: 'message.new', n, pad: 'x'.repeat(bytes) }));

function deliver(connection: Connection, n: number, bytes = 0): void {
  if (connection.enqueue(frame(n, bytes), 'message.new', n, `${n}-0`)) connection.flush();
}

test('several frames of one batch leave in one packet, in order', () => {
  const { connection, socket } = liveConnection(testContext());
  expect(connection.enqueue(frame(1), 'message.new', 1, '1-0')).toBe(true);
  expect(connection.enqueue(frame(2), 'message.new', 2, '2-0')).toBe(false);
  connection.flush();
  expect(socket.packets.map((packet) => packet.map((text) => (JSON.parse(text) as { n: number }).n))).toEqual([[1, 2]]);
});

// A cursor that only the stream can judge takes a round trip: a snapshot, or word of the token's end, may fall into that time.
test('nothing is said before the hello: it waits', async () => {
  const { connection, socket } = greetingConnection(testContext());
  connection.writeControl({ type: 'token.expiring', expires_in_ms: 1 });
  connection.writeControl({ type: 'presence.snapshot', presence: [] });
  expect(socket.sent).toEqual([]);
  connection.greet(hello());
  connection.requireSync('cursor_unknown', null);
  await connection.greeted();
  expect(socket.types()).toEqual(['hello', 'sync.required', 'token.expiring', 'presence.snapshot']);
});

test('what waits for the hello of a connection that closes before it is dropped', async () => {
  const { connection, socket } = greetingConnection(testContext());
  connection.writeControl({ type: 'presence.snapshot', presence: [] });
  connection.close('drain');
  await connection.greeted();
  expect(socket.sent).toEqual([]);
});

test('the walk writes only what lies above the position at which the connection went live', () => {
  const { connection, socket } = greetingConnection(testContext());
  connection.greet(hello());
  deliver(connection, 4);
  connection.goLive(5);
  deliver(connection, 5);
  deliver(connection, 6);
  expect(socket.sent.map(({ n }) => n)).toEqual([undefined, 6]);
});

test('frames up to the cursor of a client that was served by a faster replica are suppressed', () => {
  const { connection, socket } = greetingConnection(testContext());
  connection.greet(hello());
  connection.goLive(0, '3-0' as never);
  for (const n of [2, 3, 4, 5]) deliver(connection, n);
  expect(socket.sent.slice(1).map(({ n }) => n)).toEqual([4, 5]);
});

test('a hole is told behind what is queued, and only to those who would have been sent what is missing', () => {
  const { connection, socket } = greetingConnection(testContext());
  connection.greet(hello());
  connection.lose(1, '1-0' as StreamId);
  connection.goLive(2, '4-0' as StreamId);
  connection.lose(2, '2-0' as StreamId);
  connection.lose(3, '3-0' as StreamId);
  expect(socket.types()).toEqual(['hello']);
  connection.enqueue(frame(5), 'message.new', 5, '5-0');
  connection.lose(6, '6-0' as StreamId);
  deliver(connection, 7);
  expect(socket.types()).toEqual(['hello', 'message.new', 'sync.required', 'message.new']);
  expect(socket.sent[2]).toMatchObject({ reason: 'gap', cursor: '6-0' });
});

test('whoever falls behind in front of a hole is told once, when the socket has drained', () => {
  const { connection, socket } = liveConnection(testContext(100));
  socket.stall();
  deliver(connection, 1, 100);
  connection.enqueue(frame(2, 100), 'message.new', 2, '2-0');
  connection.lose(3, '3-0' as StreamId);
  expect(socket.types()).toEqual(['message.new']);
  socket.drain();
  connection.onDrain();
  expect(socket.types()).toEqual(['message.new', 'sync.required']);
});

test('a durable frame that does not fit stops everything durable until the client has been told', () => {
  const context = testContext(1000);
  const { connection, socket } = liveConnection(context);
  socket.stall();
  for (let n = 1; n <= 20; n++) deliver(connection, n, 100);
  const queued = socket.frames.length;
  expect(queued).toBeLessThan(10);
  expect(connection.isCatchingUp).toBe(true);
  expect(context.slow).toEqual([connection]);

  socket.drain();
  connection.onDrain();
  deliver(connection, 21);
  expect(socket.sent.slice(queued)).toMatchObject([{ type: 'sync.required', reason: 'slow_consumer', cursor: '9-0' }, { n: 21 }]);
});

test('a partly drained socket that fell behind is not told yet', () => {
  const { connection, socket } = liveConnection(testContext(1000));
  socket.stall();
  for (let n = 1; n <= 20; n++) deliver(connection, n, 100);
  socket.drain(10);
  connection.onDrain();
  expect(socket.types()).not.toContain('sync.required');
  expect(connection.isCatchingUp).toBe(true);
});

test('one durable frame is always accepted when nothing is queued, however large', () => {
  const { connection, socket } = liveConnection(testContext(1000));
  socket.stall();
  deliver(connection, 1, 50_000);
  expect(socket.frames).toHaveLength(1);
  expect(connection.isCatchingUp).toBe(false);
});

test('a frame that the transport itself drops is a hole, and is told', () => {
  const context = testContext();
  const { connection, socket } = liveConnection(context);
  socket.stall();
  deliver(connection, 1);
  socket.refuse();
  deliver(connection, 2);
  expect(context.dropped).toEqual(['transport']);
  socket.refuse(false);
  socket.drain();
  connection.onDrain();
  expect(socket.types()).toEqual(['message.new', 'sync.required']);
});

test('a cursor is vouched for only as far as nothing is owed below it', () => {
  const context = testContext(1000);
  const { connection, socket } = greetingConnection(context);
  connection.greet({ ...hello(), resumed: true, cursor: '4-0' as StreamId });
  expect(connection.assuredCursor).toBe('4-0');
  connection.goLive(0);
  expect(connection.assuredCursor).toBe('9-0');
  socket.stall();
  for (let n = 10; n <= 30; n++) deliver(connection, n, 100);
  context.handled = '30-0' as StreamId;
  expect(connection.assuredCursor).toBe('4-0');
  socket.drain();
  connection.onDrain();
  context.handled = '31-0' as StreamId;
  expect(connection.assuredCursor).toBe('31-0');
  socket.stall();
  for (let n = 32; n <= 50; n++) deliver(connection, n, 100);
  expect(connection.assuredCursor).toBe('30-0');
});

test('ephemeral frames are the first to give way', () => {
  const context = testContext(1000);
  const { connection, socket } = liveConnection(context);
  socket.stall();
  deliver(connection, 1, 300);
  connection.writeEphemeral('{"type":"typing"}', 'typing');
  deliver(connection, 2, 300);
  expect(socket.types()).toEqual(['message.new', 'message.new']);
  expect(context.dropped).toEqual(['ephemeral']);
});

test('a client that only asks and never reads is closed', () => {
  const context = testContext(1000);
  const { connection, socket } = liveConnection(context);
  socket.stall();
  for (let i = 0; i < 1000 && connection.isOpen; i++) connection.writeControl({ type: 'pong' });
  expect(socket.closed?.code).toBe(4508);
  expect(socket.bufferedBytes()).toBeLessThan(2100);
});

test('a pulled frame waits for room and is told when there is some', async () => {
  const { connection, socket } = liveConnection(testContext(1000));
  socket.stall();
  while (connection.writeSynced(frame(1, 100), 'message.new') === 'written');
  expect(socket.bufferedBytes()).toBeLessThanOrEqual(1000);
  const drained = connection.drained();
  socket.drain();
  connection.onDrain();
  await drained;
  expect(connection.writeSynced(frame(2), 'message.new')).toBe('written');
});

test('a pulled frame larger than what is left of the budget goes out once the socket has room', async () => {
  const { connection, socket } = liveConnection(testContext(1000));
  socket.stall();
  while (connection.writeSynced(frame(1, 100), 'message.new') === 'written');
  const drained = connection.drained();
  socket.drain(400);
  connection.onDrain();
  await drained;
  expect(connection.writeSynced(frame(2, 900), 'message.new')).toBe('written');
});

test('whoever waits for a socket is released when it closes', async () => {
  const { connection, socket } = liveConnection(testContext(1000));
  socket.stall();
  while (connection.writeSynced(frame(1, 100), 'message.new') === 'written');
  const drained = connection.drained();
  connection.close('heartbeat');
  await drained;
  expect(connection.writeSynced(frame(2), 'message.new')).toBe('closed');
});

test('a connection closes once, with the code of its reason, and is silent afterwards', () => {
  const context = testContext();
  const { connection, socket } = liveConnection(context);
  const { signal } = connection;
  connection.close('replaced');
  connection.close('heartbeat');
  connection.onTransportClosed();
  connection.writeControl({ type: 'pong' });
  deliver(connection, 1);
  expect(socket.closed).toEqual({ code: 4409, reason: 'replaced' });
  expect(context.closed).toEqual([{ connection, reason: 'replaced' }]);
  expect(socket.frames).toEqual([]);
  expect(signal.aborted).toBe(true);
});

test('an administrator chooses code and reason', () => {
  const { connection, socket } = liveConnection(testContext());
  connection.close('administrator', { code: 4999, reason: 'go home' });
  expect(socket.closed).toEqual({ code: 4999, reason: 'go home' });
});

test('frames queued before a close are not written after it', () => {
  const { connection, socket } = liveConnection(testContext());
  connection.enqueue(frame(1), 'message.new', 1, '1-0');
  connection.close('drain');
  connection.flush();
  expect(socket.frames).toEqual([]);
});

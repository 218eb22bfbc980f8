import { expect, test } from 'vitest';
import { liveConnection, testContext } from '../../test/connections.js';
import { Heartbeat } from './heartbeat.js';

const intervalMs = 20_000;

test('every connection is pinged once per interval, spread over it', async () => {
  const context = testContext();
  const heartbeat = new Heartbeat(context.clock, intervalMs);
  const opened = Array.from({ length: 100 }, () => liveConnection(context));
  for (const { connection } of opened) heartbeat.add(connection);
  heartbeat.start();
  const pinged = (): number => opened.reduce((sum, { socket }) => sum + socket.pings, 0);
  await context.clock.advance(intervalMs / 4);
  expect(pinged()).toBeGreaterThan(30);
  expect(pinged()).toBeLessThan(70);
  await context.clock.advance((intervalMs * 3) / 4);
  expect(opened.map(({ socket }) => socket.pings)).toEqual(opened.map(() => 1));
  heartbeat.stop();
});

test('silence of 2 to 2.5 intervals closes with 4408, a sign of life postpones it', async () => {
  const context = testContext();
  const heartbeat = new Heartbeat(context.clock, intervalMs);
  const silent = liveConnection(context);
  const alive = liveConnection(context);
  for (const { connection } of [silent, alive]) heartbeat.add(connection);
  heartbeat.start();
  await context.clock.advance(intervalMs * 1.99);
  expect(silent.connection.isOpen).toBe(true);
  alive.connection.onActivity();
  await context.clock.advance(intervalMs * 0.56);
  expect(silent.socket.closed?.code).toBe(4408);
  expect(alive.connection.isOpen).toBe(true);
  heartbeat.stop();
});

// A replica that was stopped and continued would otherwise close everybody at once, although their pongs are in its buffers.
test('a process that was itself asleep judges nobody for an interval', async () => {
  const context = testContext();
  const heartbeat = new Heartbeat(context.clock, intervalMs);
  const { connection } = liveConnection(context);
  heartbeat.add(connection);
  heartbeat.start();
  await context.clock.advance(100);
  await context.clock.jump(intervalMs * 5);
  await context.clock.advance(intervalMs * 0.9);
  expect(connection.isOpen).toBe(true);
  await context.clock.advance(intervalMs * 0.7);
  expect(connection.isOpen).toBe(false);
  heartbeat.stop();
});

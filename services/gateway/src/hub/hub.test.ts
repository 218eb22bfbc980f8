import type { UserId } from '@event-gateway/protocol';
import { describe, expect, test } from 'vitest';
import { liveConnection, testContext } from '../../test/connections.js';
import type { FakeSocket } from '../../test/fake-socket.js';
import type { Connection } from './connection.js';
import { Hub } from './hub.js';

const pong = { type: 'pong', cursor: null } as const;

interface Opened {
  readonly connection: Connection;
  readonly socket: FakeSocket;
}

/** Until the next frame is one too many: twice the budget waits. */
function fill({ connection, socket }: Opened): void {
  socket.stall();
  while (socket.bufferedBytes() <= 2000) connection.writeControl(pong);
  expect(connection.isOpen).toBe(true);
}

/** A hub whose connections leave it when they close, as they do in a replica. */
function openHub() {
  const hub = new Hub();
  const context = testContext();
  context.onClosed = (connection) => hub.remove(connection);
  const open = (userId: string): Opened => {
    const opened = liveConnection(context, userId);
    hub.add(opened.connection);
    return opened;
  };
  return { hub, open };
}

test('a user is here from the first connection to the last', () => {
  const { hub, open } = openHub();
  const told: string[] = [];
  hub.onUserJoined((userId) => told.push(`${userId} joined`));
  hub.onUserLeft((userId) => told.push(`${userId} left`));
  const [first, second, other] = [open('a'), open('a'), open('b')];
  expect(hub.connectionsOf('a')).toEqual([first.connection, second.connection]);
  expect([hub.connectionCount, hub.userCount, [...hub.users()]]).toEqual([3, 2, ['a', 'b']]);
  first.connection.close('replaced');
  hub.remove(first.connection);
  expect(hub.connectionsOf('a')).toEqual([second.connection]);
  second.connection.close('replaced');
  expect([hub.connectionCount, hub.userCount, hub.get('a')]).toEqual([1, 1, undefined]);
  expect(told).toEqual(['a joined', 'b joined', 'a left']);
  expect([...hub.connections()]).toEqual([other.connection]);
});

// A frame that a stuck socket cannot take closes it, in the middle of the walk over all devices of its user.
describe('a device that closes while its user is written to hides none of the others', () => {
  const ways: readonly (readonly [string, (hub: Hub) => Iterable<Connection>])[] = [
    ['the connections of the user', (hub) => hub.connectionsOf('a')],
    ['the user of a match', (hub) => hub.get('a' as UserId)?.connections ?? []],
    ['all connections', (hub) => hub.connections()],
  ];
  test.each(ways)('in %s', (_, connectionsIn) => {
    const { hub, open } = openHub();
    const [stuck, ...others] = [open('a'), open('a'), open('a')];
    fill(stuck);
    for (const connection of connectionsIn(hub)) connection.writeControl(pong);
    expect(stuck.socket.closed).toMatchObject({ reason: 'slow_consumer' });
    expect(others.map(({ socket }) => socket.types())).toEqual([['pong'], ['pong']]);
    expect(hub.connectionsOf('a')).toEqual(others.map(({ connection }) => connection));
  });
});

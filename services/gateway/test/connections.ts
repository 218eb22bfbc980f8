import type { HelloFrame, StreamId, UserId } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import { Connection, type ConnectionContext } from '../src/hub/connection.js';
import type { CloseReason } from '../src/hub/hub-metrics.js';
import { FakeSocket } from './fake-socket.js';

export interface TestContext extends ConnectionContext {
  readonly clock: FakeClock;
  readonly closed: { readonly connection: Connection; readonly reason: CloseReason }[];
  readonly slow: Connection[];
  readonly dropped: string[];
  handled: StreamId | null;
}

/** What connections of a test share; `maxBytes` is the budget of a socket. */
export function testContext(maxBytes = 1000): TestContext {
  const context: TestContext = {
    clock: new FakeClock(),
    closed: [],
    slow: [],
    dropped: [],
    handled: '9-0' as StreamId,
    metrics: { sent: () => undefined, dropped: (reason) => context.dropped.push(reason) },
    limits: { maxBytes },
    syncRequiredJitterMs: 100,
    handledId: () => context.handled,
    onActivity: () => undefined,
    onBehind: (connection) => context.slow.push(connection),
    onClosed: (connection, reason) => context.closed.push({ connection, reason }),
  };
  return context;
}

export function hello(userId = 'u1'): HelloFrame {
  return {
    type: 'hello',
    connection_id: 'x',
    replica_id: 'r',
    user_id: userId as UserId,
    heartbeat_ms: 1,
    resumed: false,
    cursor: null,
  };
}

let count = 0;

/** A connection that waits for its hello. */
export function greetingConnection(context: TestContext, userId = 'u1'): { connection: Connection; socket: FakeSocket } {
  const socket = new FakeSocket();
  return { connection: new Connection(`c${++count}`, userId as UserId, undefined, socket, context), socket };
}

/** A connection that is live above a position; the hello is taken off the socket's records. */
export function liveConnection(context: TestContext, userId = 'u1', livePosition = 0): { connection: Connection; socket: FakeSocket } {
  const opened = greetingConnection(context, userId);
  opened.connection.greet(hello(userId));
  opened.connection.goLive(livePosition);
  opened.socket.frames.length = 0;
  opened.socket.packets.length = 0;
  return opened;
}

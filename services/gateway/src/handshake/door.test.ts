import type { StreamId, UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import { FakeSocket } from '../../test/fake-socket.js';
import type { Connection } from '../hub/connection.js';
import { Heartbeat } from '../hub/heartbeat.js';
import { Hub } from '../hub/hub.js';
import { HubMetrics } from '../hub/hub-metrics.js';
import { SlowWatch } from '../hub/slow-watch.js';
import { Door } from './door.js';
import { TokenExpiry } from './token-expiry.js';
import type { Grant } from './upgrade.js';

const cursor = '1764489471000-12';

let hub: Hub;
let begun: (string | undefined)[];
let released: number;

beforeEach(() => {
  hub = new Hub();
  begun = [];
  released = 0;
});

function doorOf(isPubsub = false): Door {
  const clock = new FakeClock();
  return new Door(
    {
      hub,
      heartbeat: new Heartbeat(clock, 20_000),
      slowWatch: new SlowWatch(clock, 1000),
      expiry: new TokenExpiry<Connection>({ clock }, { tokenExpiringBeforeMs: 1000 }),
      presence: { active: () => undefined },
      resume: { begin: async (_, sent) => void begun.push(sent) },
      metrics: new HubMetrics(new Metrics(), hub),
      clock,
      handledId: () => '9-0' as StreamId,
    },
    { outboxMaxBytes: 1000, syncRequiredJitterMs: 100, maxConnectionsPerUser: 2, isPubsub },
  );
}

const grant = (): Grant => ({
  userId: 'u' as UserId,
  expiresAtMs: 60_000,
  cursor,
  subprotocol: undefined,
  place: {
    release: () => {
      released++;
    },
  },
});

test('an open connection is in the hub, has given its place back and begins with its past', () => {
  const connection = doorOf().open(grant(), new FakeSocket());
  expect([hub.connectionsOf('u'), released, begun, connection.cursor]).toEqual([[connection], 1, [cursor], cursor]);
});

test('without a stream the cursor that a client brings stands for nothing', () => {
  expect(doorOf(true).open(grant(), new FakeSocket()).cursor).toBeUndefined();
});

test('the oldest connection over the limit is replaced, and forgotten', () => {
  const door = doorOf();
  const sockets = [new FakeSocket(), new FakeSocket(), new FakeSocket()];
  const connections = sockets.map((socket) => door.open(grant(), socket));
  expect(sockets.map(({ closed }) => closed?.code)).toEqual([4409, undefined, undefined]);
  expect(hub.connectionsOf('u')).toEqual(connections.slice(1));
});

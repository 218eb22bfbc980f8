// Clients without a past that ask for everything at once, as after a loss of data: how long until each is whole again?
//   k6 run -e GATEWAY_URL=… -e USERS_FILE=./users.json -e CONNECTIONS=500 sync.ts
import { Trend } from 'k6/metrics';
import type { Options } from 'k6/options';
import { type Frame, holdConnection } from './gateway-socket.ts';
import { ownUser } from './users.ts';

const connections = Number(__ENV['CONNECTIONS'] ?? 500);
const syncMs = new Trend('sync_complete_ms', true);

export const options: Options = {
  scenarios: { sync: { executor: 'per-vu-iterations', vus: connections, iterations: 1, maxDuration: '3m' } },
  thresholds: {
    sync_complete_ms: ['p(95)<5000', 'p(99)<10000'],
    gateway_lost_connections: ['count==0'],
  },
};

export default function sync(): void {
  let startMs = 0;
  let ask: (frame: Frame) => void = () => undefined;
  holdConnection(ownUser().token, {
    durationMs: 60_000,
    onHello: (send) => {
      ask = send;
      startMs = Date.now();
      send({ type: 'sync', conversations: {} });
    },
    onFrame: (frame) => {
      if (frame.type !== 'sync.complete') return;
      if (frame['has_more'] === true) ask({ type: 'sync', conversations: {}, next: frame['next'] });
      else syncMs.add(Date.now() - startMs);
    },
  });
}

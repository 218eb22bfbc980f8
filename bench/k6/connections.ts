// Many connections that come within a minute and stay: does everybody get in, how soon, and does everybody stay?
//   k6 run -e GATEWAY_URL=wss://…/api/v1/ws -e USERS_FILE=./users.json -e CONNECTIONS=1000 connections.ts
import type { Options } from 'k6/options';
import { holdConnection } from './gateway-socket.ts';
import { ownUser } from './users.ts';

const connections = Number(__ENV['CONNECTIONS'] ?? 1000);
const holdMs = Number(__ENV['HOLD_S'] ?? 120) * 1000;

export const options: Options = {
  scenarios: {
    connections: {
      executor: 'ramping-vus',
      startVUs: 0,
      stages: [
        { duration: '60s', target: connections },
        { duration: `${holdMs / 1000}s`, target: connections },
      ],
      gracefulStop: '30s',
    },
  },
  thresholds: {
    gateway_hello_ms: ['p(99)<1000'],
    gateway_lost_connections: ['count==0'],
    gateway_complaints: ['count==0'],
  },
};

export default function connect(): void {
  holdConnection(ownUser().token, { durationMs: holdMs });
}

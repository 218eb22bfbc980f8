// Everybody types in their conversation: is it relayed to the others, and does the limit of one per two seconds hold?
//   k6 run -e GATEWAY_URL=… -e USERS_FILE=./users.json -e CONNECTIONS=200 typing.ts
import { Counter } from 'k6/metrics';
import type { Options } from 'k6/options';
import { holdConnection } from './gateway-socket.ts';
import { ownUser } from './users.ts';

const connections = Number(__ENV['CONNECTIONS'] ?? 200);
const typingReceived = new Counter('typing_received');

export const options: Options = {
  scenarios: { typing: { executor: 'per-vu-iterations', vus: connections, iterations: 1, maxDuration: '3m' } },
  thresholds: {
    typing_received: ['count>0'],
    gateway_lost_connections: ['count==0'],
    gateway_complaints: ['count==0'],
  },
};

export default function type(): void {
  const { token, conversation_id } = ownUser();
  holdConnection(token, {
    durationMs: 60_000,
    repeats: { frame: { type: 'typing', conversation_id }, everyMs: 2500 },
    onFrame: ({ type: name }) => {
      if (name === 'typing') typingReceived.add(1);
    },
  });
}

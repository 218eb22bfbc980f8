// Messages on their whole way: posted to the messenger, published by it, delivered by the gateway. The threshold is on that way.
// The messenger's route is that of the sandbox; for another one change `postMessage`.
//   k6 run -e GATEWAY_URL=… -e API_URL=… -e USERS_FILE=./users.json -e CONNECTIONS=200 -e MESSAGES_PER_S=50 delivery.ts
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
import type { Options } from 'k6/options';
import { holdConnection } from './gateway-socket.ts';
import { ownUser } from './users.ts';

const connections = Number(__ENV['CONNECTIONS'] ?? 200);
const apiUrl = __ENV['API_URL'] ?? 'http://localhost:3000';
const mark = 'posted at ';

/** From the post until a recipient has it; both clocks are this machine's. */
const deliveryMs = new Trend('message_delivery_ms', true);
const delivered = new Counter('messages_delivered');

export const options: Options = {
  scenarios: {
    readers: { executor: 'per-vu-iterations', vus: connections, iterations: 1, maxDuration: '3m', exec: 'read' },
    writers: {
      executor: 'constant-arrival-rate',
      exec: 'postMessage',
      rate: Number(__ENV['MESSAGES_PER_S'] ?? 50),
      timeUnit: '1s',
      startTime: '15s',
      duration: '60s',
      preAllocatedVUs: 50,
    },
  },
  thresholds: {
    message_delivery_ms: ['p(50)<100', 'p(99)<500'],
    messages_delivered: ['count>0'],
    http_req_failed: ['rate<0.01'],
    gateway_lost_connections: ['count==0'],
    gateway_complaints: ['count==0'],
  },
};

export function read(): void {
  holdConnection(ownUser().token, {
    durationMs: 90_000,
    onFrame: ({ type, message }) => {
      if (type !== 'message.new') return;
      const postedMs = Number(/posted at (\d+)/.exec(JSON.stringify(message))?.[1]);
      if (Number.isNaN(postedMs)) return;
      delivered.add(1);
      deliveryMs.add(Date.now() - postedMs);
    },
  });
}

export function postMessage(): void {
  const { token, conversation_id } = ownUser();
  http.post(`${apiUrl}/api/conversations/${conversation_id}/messages`, JSON.stringify({ text: `${mark}${Date.now()}` }), {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });
}

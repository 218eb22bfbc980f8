import { fileURLToPath } from 'node:url';
import { eventually, FleetHome, type FleetProcess, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { createCommandConnection } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeGateway } from '../test/fake-http.js';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
let home: FleetHome;
let server: RedisServer;
let redis: ReturnType<typeof createCommandConnection>;
let gateway: FakeGateway;

beforeEach(async () => {
  home = new FleetHome();
  server = await startRedisServer({ home });
  redis = createCommandConnection({ url: server.url, commandTimeoutMs: 2000 }, systemClock, silentLogger, 'test');
  redis.start();
  await eventually(() => redis.isUp);
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(async () => {
  gateway.stop();
  redis.stop();
  await home.close();
});

function launch(id: string, environment: Record<string, string> = {}): FleetProcess {
  return home.spawn({
    name: id,
    command: process.execPath,
    args: [main],
    env: {
      REDIS_URL: server.url,
      WORKER_ID: id,
      GATEWAY_URLS: gateway.url,
      HOST: '127.0.0.1',
      PORT: '0',
      CLAIM_IDLE_MS: '300',
      ...environment,
    },
  });
}

const pushesOf = (worker: FleetProcess): string[] =>
  [...worker.output().matchAll(/"user_id":"([^"]+)","message_id":"([^"]+)"/g)].map(([, user, id]) => `${id}→${user}`);

async function publish(from: number, through: number): Promise<void> {
  const calls = Array.from({ length: through - from }, (_, n) => {
    const envelope = JSON.stringify({ type: 'message.new', conversation_id: 'c', payload: { id: `m${from + n}`, sender_id: 'a' } });
    return ['XADD', 'messenger.events', '*', 'recipients', '["a","u"]', 'envelope', envelope] as const;
  });
  await redis.pipeline(calls);
}

test('a worker killed in the middle of its work loses no push: another one makes it', async () => {
  const first = launch('w1', { READ_BATCH_ENTRIES: '50' });
  await eventually(() => expect(first.output()).toContain('worker is up'));
  await eventually(async () => expect(await redis.call('EXISTS', 'messenger.events')).toBe(1), { what: 'the group' });
  await publish(0, 500);
  await eventually(() => pushesOf(first).length >= 60, { intervalMs: 1 });
  await first.kill();
  const second = launch('w2');
  await publish(500, 600);
  const expected = Array.from({ length: 600 }, (_, n) => `m${n}→u`).sort();
  // What the first had claimed, and not remembered as pushed, is free again when the claim expires.
  await eventually(() => expect([...new Set([...pushesOf(first), ...pushesOf(second)])].sort()).toEqual(expected), { timeoutMs: 50_000 });
}, 60_000);

test('SIGTERM ends it with 0, and a wrong environment with 78 and all that is wrong', async () => {
  const worker = launch('w1');
  await eventually(() => expect(worker.output()).toContain('worker is up'));
  expect(await worker.stop()).toMatchObject({ code: 0 });
  const wrong = launch('wrong', { GATEWAY_URLS: 'nowhere', PORT: 'x', PUSH_WEBHOOK_URL: 'ftp://x' });
  expect(await wrong.exited).toMatchObject({ code: 78 });
  for (const name of ['GATEWAY_URLS', 'PORT', 'PUSH_WEBHOOK_URL']) expect(wrong.output()).toContain(name);
});

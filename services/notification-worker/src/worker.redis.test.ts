import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { createCommandConnection } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FakeGateway, FakeHttp } from '../test/fake-http.js';
import { composeWorker } from './compose.js';
import { parseConfig } from './config.js';

const stream = 'messenger.events';
let server: RedisServer;
let redis: ReturnType<typeof createCommandConnection>;
let gateway: FakeGateway;
let webhook: FakeHttp;
const running: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startRedisServer();
  redis = createCommandConnection({ url: server.url, commandTimeoutMs: 2000 }, systemClock, silentLogger, 'test');
  redis.start();
  await eventually(() => redis.isUp);
});

afterAll(async () => {
  redis.stop();
  await server.stop();
});

beforeEach(async () => {
  await redis.call('FLUSHALL');
  gateway = new FakeGateway();
  webhook = new FakeHttp(() => ({ status: 204 }));
  await Promise.all([gateway.start(), webhook.start()]);
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
  gateway.stop();
  webhook.stop();
});

interface TestWorker {
  readonly metricsUrl: string;
  stop(): Promise<void>;
}

/** A whole worker in this process; resolves when it has joined the group. */
async function startWorker(environment: Record<string, string> = {}): Promise<TestWorker> {
  const config = parseConfig({
    REDIS_URL: server.url,
    WORKER_ID: 'w1',
    GATEWAY_URLS: gateway.url,
    PUSH_WEBHOOK_URL: `${webhook.url}/push`,
    READ_BLOCK_MS: '20',
    CLAIM_IDLE_MS: '200',
    HOST: '127.0.0.1',
    PORT: '0',
    ...environment,
  });
  const { supervisor, status } = composeWorker(config, systemClock, silentLogger);
  await supervisor.start();
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await supervisor.drain(3000);
    await supervisor.stop();
  };
  running.push(stop);
  await eventually(async () => (await consumers()).includes(config.WORKER_ID));
  return { metricsUrl: `http://127.0.0.1:${status.port}/metrics`, stop };
}

async function consumers(): Promise<string[]> {
  const reply = await redis.call('XINFO', 'CONSUMERS', stream, 'notifications').catch(() => []);
  return (reply as string[][]).map((consumer) => consumer[1] ?? '');
}

async function pendingCount(): Promise<number> {
  const [count] = (await redis.call('XPENDING', stream, 'notifications')) as [number];
  return count;
}

/** Everything that was published has been handled and acknowledged. */
function whenIdle(): Promise<unknown> {
  return eventually(async () => {
    const [group] = (await redis.call('XINFO', 'GROUPS', stream)) as (string | number)[][];
    const at = (name: string): unknown => group?.[group.indexOf(name) + 1];
    expect({ pending: at('pending'), lag: at('lag') }).toEqual({ pending: 0, lag: 0 });
  });
}

function publish(id: string, recipients: readonly string[], fields: object = {}): Promise<unknown> {
  const envelope = { type: 'message.new', conversation_id: 'c1', payload: { id, sender_id: 'author' }, ...fields };
  return redis.call('XADD', stream, '*', 'recipients', JSON.stringify(recipients), 'envelope', JSON.stringify(envelope));
}

const pushed = (): string[] =>
  webhook.asked
    .map(({ body }) => JSON.parse(body) as { message_id: string; user_id: string })
    .map((p) => `${p.message_id}→${p.user_id}`)
    .sort();

async function metric(worker: TestWorker, series: string): Promise<number> {
  const page = await (await fetch(worker.metricsUrl)).text();
  return Number(
    page
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1],
  );
}

test('whoever is offline gets one push, whoever is online or wrote the message gets none', async () => {
  gateway.online.add('online');
  const worker = await startWorker({ INTERNAL_TOKEN: 'secret' });
  await publish('m1', ['author', 'online', 'offline', 'away']);
  await whenIdle();
  expect(webhook.asked.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toEqual(
    ['offline', 'away'].map((user_id) => [
      'POST',
      '/push',
      { user_id, message_id: 'm1', conversation_id: 'c1', sender_id: 'author', presence: 'offline' },
    ]),
  );
  expect(gateway.asked).toMatchObject([
    { method: 'GET', url: '/internal/presence?users=online,offline,away', authorization: 'Bearer secret' },
  ]);
  expect(await metric(worker, 'notifications_entries_total{outcome="pushed"}')).toBe(1);
  expect(await metric(worker, 'notifications_pushes_total{outcome="offline"}')).toBe(2);
});

test('other events and messages to nobody cost no question and no push', async () => {
  const worker = await startWorker();
  await publish('m1', ['u1'], { type: 'receipt.read' });
  await publish('m2', []);
  await publish('m3', ['author']);
  await whenIdle();
  expect([gateway.asked, webhook.asked]).toEqual([[], []]);
  expect(await metric(worker, 'notifications_entries_total{outcome="other_type"}')).toBe(1);
  expect(await metric(worker, 'notifications_entries_total{outcome="nobody_offline"}')).toBe(2);
});

test('a new group wakes nobody for what was published before it', async () => {
  await publish('old', ['u1']);
  await startWorker();
  await publish('new', ['u1']);
  await whenIdle();
  expect(pushed()).toEqual(['new→u1']);
});

test('a message that is published twice is pushed once', async () => {
  const worker = await startWorker();
  await publish('m1', ['u1']);
  await whenIdle();
  await publish('m1', ['u1', 'u2']);
  await whenIdle();
  expect(pushed()).toEqual(['m1→u1', 'm1→u2']);
  expect(await metric(worker, 'notifications_pushes_total{outcome="repeated"}')).toBe(1);
});

test('published twice within one batch, it is pushed once too', async () => {
  webhook.answer = async () => ({ status: 204 });
  await startWorker();
  await redis.pipeline(
    [1, 2, 3].map(() => ['XADD', stream, '*', 'recipients', '["u1"]', 'envelope', '{"type":"message.new","payload":{"id":"m1"}}']),
  );
  await whenIdle();
  expect(pushed()).toEqual(['m1→u1']);
});

test('malformed entries are counted and acknowledged, their neighbours pushed', async () => {
  const worker = await startWorker();
  await redis.call('XADD', stream, '*', 'recipients', '["u1"]', 'envelope', '{');
  await publish('m1', ['u1']);
  await redis.call('XADD', stream, '*', 'nothing', 'here');
  await whenIdle();
  expect(pushed()).toEqual(['m1→u1']);
  expect(await metric(worker, 'notifications_entries_total{outcome="malformed"}')).toBe(2);
});

test('one question serves a whole batch, and more than a thousand users are asked about in several, by body', async () => {
  await startWorker();
  const users = Array.from({ length: 1500 }, (_, n) => `user-${n}`);
  for (const user of users) gateway.online.add(user);
  await publish('m1', [...users, 'offline']);
  await whenIdle();
  expect(gateway.asked.map(({ method }) => method)).toEqual(['POST', 'POST']);
  expect(gateway.asked.map(({ body }) => (JSON.parse(body) as { users: string[] }).users.length)).toEqual([1000, 501]);
  expect(pushed()).toEqual(['m1→offline']);
});

test('an id with a comma is asked about as one', async () => {
  gateway.online.add('a,b');
  await startWorker();
  await publish('m1', ['a,b', 'c/d?e']);
  await whenIdle();
  expect(pushed()).toEqual(['m1→c/d?e']);
});

describe('when nobody can say who is online, everybody is pushed to, and the push says so', () => {
  const unknown = async (worker: TestWorker): Promise<void> => {
    await whenIdle();
    expect(webhook.asked.map(({ body }) => JSON.parse(body))).toMatchObject([{ user_id: 'u1', presence: 'unknown' }]);
    expect(await metric(worker, 'notifications_pushes_total{outcome="unknown"}')).toBe(1);
  };

  test('the gateway is degraded', async () => {
    gateway.isDegraded = true;
    gateway.online.add('u1');
    const worker = await startWorker();
    await publish('m1', ['u1']);
    await unknown(worker);
    expect(await metric(worker, 'notifications_presence_requests_total{outcome="degraded"}')).toBe(1);
  });

  test.each([
    ['500', { status: 500 }],
    ['401', { status: 401 }],
    ['an answer without presence', { body: { users: [] } }],
    ['an answer that is no object', { body: [] }],
    ['no answer', 'hang' as const],
  ])('the only replica gives %s', async (_what, answer) => {
    gateway.answer = () => answer;
    const worker = await startWorker({ PRESENCE_TIMEOUT_MS: '100' });
    await publish('m1', ['u1']);
    await unknown(worker);
    expect(await metric(worker, 'notifications_presence_requests_total{outcome="failed"}')).toBe(1);
  });

  test('a user is missing in the answer', async () => {
    gateway.answer = () => ({ body: { presence: {} } });
    const worker = await startWorker();
    await publish('m1', ['u1']);
    await unknown(worker);
  });
});

test('when a replica does not answer the next one is asked, and goes on being asked first', async () => {
  const ill = new FakeHttp(() => ({ status: 503 }));
  await ill.start();
  gateway.online.add('u1');
  await startWorker({ GATEWAY_URLS: `http://127.0.0.1:1,${ill.url},${gateway.url}` });
  await publish('m1', ['u1']);
  await whenIdle();
  await publish('m2', ['u1', 'u2']);
  await whenIdle();
  expect(pushed()).toEqual(['m2→u2']);
  expect([ill.asked.length, gateway.asked.length]).toEqual([1, 2]);
  ill.stop();
});

describe('a push that fails', () => {
  test('is made again later, and only that one', async () => {
    let failures = 2;
    webhook.answer = ({ body }) => (body.includes('"u2"') && failures-- > 0 ? { status: 500 } : { status: 200 });
    const worker = await startWorker();
    await publish('m1', ['u1', 'u2', 'u3']);
    await whenIdle();
    expect(pushed()).toEqual(['m1→u1', 'm1→u2', 'm1→u2', 'm1→u2', 'm1→u3']);
    expect(await metric(worker, 'notifications_pushes_total{outcome="failed"}')).toBe(2);
    expect(await metric(worker, 'notifications_entries_total{outcome="postponed"}')).toBe(2);
  });

  test('is not made again when the sink refuses it for good', async () => {
    webhook.answer = () => ({ status: 410 });
    const worker = await startWorker();
    await publish('m1', ['u1']);
    await whenIdle();
    expect(pushed()).toEqual(['m1→u1']);
    expect(await metric(worker, 'notifications_pushes_total{outcome="refused"}')).toBe(1);
  });

  test('is given up when it is too old to be of use', async () => {
    webhook.answer = () => ({ status: 500 });
    const worker = await startWorker({ PUSH_MAX_AGE_MS: '1000' });
    await publish('m1', ['u1']);
    await whenIdle();
    expect(await metric(worker, 'notifications_entries_total{outcome="expired"}')).toBe(1);
  });
});

describe('several workers', () => {
  test('share the work: each message is pushed by one of them', async () => {
    await Promise.all(['w1', 'w2', 'w3'].map((id) => startWorker({ WORKER_ID: id, READ_BATCH_ENTRIES: '5' })));
    const ids = Array.from({ length: 200 }, (_, n) => `m${n}`);
    await Promise.all(ids.map((id) => publish(id, ['u1'])));
    await whenIdle();
    expect(pushed()).toEqual(ids.map((id) => `${id}→u1`).sort());
  });

  test('what a dead worker has left behind is taken over', async () => {
    await redis.call('XGROUP', 'CREATE', stream, 'notifications', '$', 'MKSTREAM');
    await publish('m1', ['u1']);
    await redis.call('XREADGROUP', 'GROUP', 'notifications', 'dead', 'STREAMS', stream, '>');
    expect(await pendingCount()).toBe(1);
    await startWorker();
    await whenIdle();
    expect(pushed()).toEqual(['m1→u1']);
  });

  test('what is not idle for long enough is left to its worker', async () => {
    await redis.call('XGROUP', 'CREATE', stream, 'notifications', '$', 'MKSTREAM');
    await publish('m1', ['u1']);
    await redis.call('XREADGROUP', 'GROUP', 'notifications', 'busy', 'STREAMS', stream, '>');
    await startWorker({ CLAIM_IDLE_MS: '60000' });
    await publish('m2', ['u1']);
    await eventually(async () => expect([pushed(), await pendingCount()]).toEqual([['m2→u1'], 1]));
  });
});

test('what this worker had taken before it crashed comes first', async () => {
  await redis.call('XGROUP', 'CREATE', stream, 'notifications', '$', 'MKSTREAM');
  for (let n = 0; n < 150; n++) await publish(`m${n}`, ['u1']);
  await redis.call('XREADGROUP', 'GROUP', 'notifications', 'w1', 'STREAMS', stream, '>');
  expect(await pendingCount()).toBe(150);
  await startWorker({ CLAIM_IDLE_MS: '60000' });
  await whenIdle();
  expect(pushed()).toHaveLength(150);
});

test('an entry that was trimmed while it was pending holds nothing up', async () => {
  await redis.call('XGROUP', 'CREATE', stream, 'notifications', '$', 'MKSTREAM');
  await publish('m1', ['u1']);
  await redis.call('XREADGROUP', 'GROUP', 'notifications', 'w1', 'STREAMS', stream, '>');
  await redis.call('XTRIM', stream, 'MAXLEN', 0);
  await startWorker();
  await eventually(async () => (await pendingCount()) === 0);
  expect(pushed()).toEqual([]);
});

test('a group that vanishes is made again, and nothing published since is missed', async () => {
  await startWorker();
  await publish('m1', ['u1']);
  await whenIdle();
  await redis.pipeline([
    ['XGROUP', 'DESTROY', stream, 'notifications'],
    ['XADD', stream, '*', 'recipients', '["u1"]', 'envelope', '{"type":"message.new","payload":{"id":"m2"}}'],
  ]);
  await eventually(() => expect(pushed()).toEqual(['m1→u1', 'm2→u1']));
});

test('a Redis that pauses is waited for', async () => {
  await startWorker({ REDIS_COMMAND_TIMEOUT_MS: '200' });
  await publish('m1', ['u1']);
  await whenIdle();
  server.pause();
  await eventually(() => !redis.isUp, { what: 'the pause' });
  server.resume();
  await eventually(() => redis.isUp);
  await publish('m2', ['u1']);
  await eventually(() => expect(pushed()).toEqual(['m1→u1', 'm2→u1']));
});

test('a drain finishes the batch, acknowledges it, and leaves the group', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  webhook.answer = () => held.then(() => ({ status: 204 }));
  const worker = await startWorker();
  await publish('m1', ['u1', 'u2']);
  await eventually(() => webhook.asked.length === 2);
  const stopping = worker.stop();
  release();
  await stopping;
  expect(await pendingCount()).toBe(0);
  expect(await consumers()).toEqual([]);
});

test('a worker that goes with something in its hands keeps its name, so that others find it', async () => {
  webhook.answer = () => ({ status: 500 });
  const worker = await startWorker({ CLAIM_IDLE_MS: '60000' });
  await publish('m1', ['u1']);
  await eventually(() => webhook.asked.length === 1);
  await worker.stop();
  expect([await consumers(), await pendingCount()]).toEqual([['w1'], 1]);
});

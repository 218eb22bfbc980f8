import { FakeClock, Metrics, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HttpOwner, type OwnerReply } from '../../test/http-owner.js';
import { CardsMetrics } from './cards-metrics.js';
import { OwnerClient, type OwnerClientOptions } from './owner-client.js';

let owner: HttpOwner;
let metrics: Metrics;
const clients: OwnerClient<unknown>[] = [];
/** What the breaker has reported. */
let changes: boolean[];

beforeEach(async () => {
  owner = await new HttpOwner().start();
  owner.reply = () => ({ body: { ok: true } });
  metrics = new Metrics();
  changes = [];
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.stop()));
  await owner.stop();
});

function clientOf(options: Partial<OwnerClientOptions> = {}, clock = systemClock): OwnerClient<unknown> {
  const cardsMetrics = new CardsMetrics(metrics);
  const client = new OwnerClient<unknown>(
    {
      name: 'user-service',
      baseUrl: owner.url,
      bearerToken: undefined,
      timeoutMs: 20_000,
      lateMs: 0,
      breakerOpenMs: 100,
      maxConcurrent: 4,
      maxQueued: 100,
      maxResponseBytes: 10_000,
      isNone: (status) => status === 404,
      ...options,
    },
    (body) => {
      try {
        return JSON.parse(Buffer.from(body).toString()) as unknown;
      } catch {
        return undefined;
      }
    },
    clock,
    {
      fetched: (name, ms) => cardsMetrics.fetched(name, ms),
      fault: (name, reason) => cardsMetrics.fault(name, reason),
      breaker: (name, isOpen) => {
        changes.push(isOpen);
        cardsMetrics.breaker(name, isOpen);
      },
    },
  );
  clients.push(client);
  return client;
}

/** A busy machine is not a fault. */
const patiently = { timeout: 20_000 };
const get = { path: '/x' };

describe('a request', () => {
  test('carries the token, the base path and nothing else', async () => {
    const client = clientOf({ bearerToken: 'secret', baseUrl: `${owner.url}/base/` });
    expect(await client.request({ path: '/x%2Fy' })).toEqual({ kind: 'found', value: { ok: true } });
    expect(owner.requests[0]).toMatchObject({ method: 'GET', url: '/base/x%2Fy', body: '' });
    expect(owner.requests[0]?.headers.authorization).toBe('Bearer secret');
  });

  test('with a body is a POST of JSON', async () => {
    await clientOf().request({ path: '/x', body: '{"a":1}' });
    expect(owner.requests[0]).toMatchObject({ method: 'POST', body: '{"a":1}' });
    expect(owner.requests[0]?.headers['content-type']).toBe('application/json');
    expect(owner.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('reuses its connection', async () => {
    const client = clientOf({ maxConcurrent: 1 });
    for (let i = 0; i < 10; i++) await client.request(get);
    expect(owner.requests).toHaveLength(10);
    expect(owner.connections).toBe(1);
  });
});

describe('an owner that is slow', () => {
  test('is not waited for beyond the timeout, but what it says later is still taken', async () => {
    const client = clientOf({ timeoutMs: 50, lateMs: 20_000 });
    owner.reply = () => ({ delayMs: 150, body: { ok: true } });
    const answer = await client.request(get);
    expect(answer).toMatchObject({ kind: 'fault', reason: 'timeout' });
    expect(answer.kind === 'fault' && (await answer.late)).toEqual({ kind: 'found', value: { ok: true } });
  });

  test('keeps nobody else from it while it is late', async () => {
    const client = clientOf({ timeoutMs: 50, lateMs: 20_000, maxConcurrent: 1 });
    owner.reply = () => ({ fault: 'hang' });
    await client.request(get);
    owner.reply = () => ({ body: { ok: true } });
    expect(await client.request(get)).toMatchObject({ kind: 'found' });
  });

  test('is let go after that time as well', async () => {
    const client = clientOf({ timeoutMs: 30, lateMs: 30 });
    owner.reply = () => ({ fault: 'hang' });
    const answer = await client.request(get);
    expect(answer.kind === 'fault' && (await answer.late)).toEqual({ kind: 'fault', reason: 'timeout' });
    await vi.waitFor(() => expect(owner.inFlight).toBe(0), patiently);
  });
});

describe('what an owner can do wrong', () => {
  test.each<[string, OwnerReply]>([
    ['status', { status: 500 }],
    ['status', { status: 204 }],
    ['status', { status: 503, body: 'x'.repeat(300_000) }],
    ['unreachable', { fault: 'reset' }],
    ['malformed', { body: '{' }],
    ['malformed', { body: '' }],
    ['oversized', { body: `"${'x'.repeat(10_000)}"` }],
    ['oversized', { body: `"${'x'.repeat(5_000_000)}"` }],
  ])('%s', async (reason, reply) => {
    const client = clientOf();
    owner.reply = () => reply;
    expect(await client.request(get)).toEqual({ kind: 'fault', reason });
    expect(await metrics.text()).toContain(`gateway_owner_faults_total{owner="user-service",reason="${reason}"} 1`);
  });

  test.each<[string, OwnerReply]>([
    ['hangs', { fault: 'hang' }],
    ['never ends its body', { fault: 'drip' }],
  ])('%s: the request ends at the timeout', async (_, reply) => {
    const client = clientOf({ timeoutMs: 60 });
    owner.reply = () => reply;
    const startedMs = performance.now();
    expect(await client.request(get)).toEqual({ kind: 'fault', reason: 'timeout' });
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });

  test('refuses connections', async () => {
    await owner.stop();
    expect(await clientOf().request(get)).toEqual({ kind: 'fault', reason: 'unreachable' });
  });

  test('404 is an answer', async () => {
    owner.reply = () => ({ status: 404, body: 'nothing here' });
    expect(await clientOf().request(get)).toEqual({ kind: 'none' });
  });
});

describe('bounds', () => {
  test('no more requests at once than allowed; those over the queue are refused at once', async () => {
    const client = clientOf({ maxConcurrent: 3, maxQueued: 5 });
    owner.reply = () => ({ delayMs: 20, body: 1 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.request(get)));
    expect(owner.maxInFlight).toBe(3);
    expect(answers.filter((answer) => answer.kind === 'found')).toHaveLength(8);
    expect(answers.filter((answer) => answer.kind === 'fault' && answer.reason === 'overloaded')).toHaveLength(12);
    expect(client.isServing).toBe(true);
  });

  test('an aborted request frees its slot at once', async () => {
    const client = clientOf({ maxConcurrent: 1, timeoutMs: 60_000 });
    owner.reply = () => ({ fault: 'hang' });
    const controller = new AbortController();
    const hanging = client.request({ ...get, signal: controller.signal });
    await vi.waitFor(() => expect(owner.requests).toHaveLength(1), patiently);
    owner.reply = () => ({ body: 1 });
    const next = client.request(get);
    controller.abort();
    expect(await hanging).toEqual({ kind: 'fault', reason: 'aborted' });
    expect(await next).toEqual({ kind: 'found', value: 1 });
  });

  test('a request that waits leaves the queue when it is aborted', async () => {
    const client = clientOf({ maxConcurrent: 1, maxQueued: 1, timeoutMs: 60_000 });
    owner.reply = () => ({ fault: 'hang' });
    const first = new AbortController();
    const second = new AbortController();
    const hanging = client.request({ ...get, signal: first.signal });
    const waiting = client.request({ ...get, signal: second.signal });
    second.abort();
    expect(await waiting).toEqual({ kind: 'fault', reason: 'aborted' });
    const third = client.request(get);
    await vi.waitFor(() => expect(owner.requests).toHaveLength(1), patiently);
    owner.reply = () => ({ body: 1 });
    first.abort();
    await hanging;
    expect(await third).toEqual({ kind: 'found', value: 1 });
  });
});

describe('the breaker', () => {
  const openGauge = async (): Promise<boolean> => (await metrics.text()).includes('gateway_owner_breaker_open{owner="user-service"} 1');

  async function failTimes(client: OwnerClient<unknown>, times: number): Promise<void> {
    owner.reply = () => ({ status: 500 });
    for (let i = 0; i < times; i++) await client.request(get);
  }

  test('opens after five faults in a row, and then the owner is not asked', async () => {
    const clock = new FakeClock();
    const client = clientOf({}, clock);
    await failTimes(client, 4);
    owner.reply = () => ({ body: 1 });
    await client.request(get);
    await failTimes(client, 4);
    expect(client.isServing).toBe(true);
    await failTimes(client, 1);
    expect(client.isServing).toBe(false);
    expect(await openGauge()).toBe(true);
    const before = owner.requests.length;
    expect(await client.request(get)).toEqual({ kind: 'fault', reason: 'breaker_open' });
    expect(owner.requests).toHaveLength(before);
    expect(client.waitMs).toBe(100);
  });

  test('404s, full queues and aborted requests do not count against an owner', async () => {
    const client = clientOf({ maxConcurrent: 1, maxQueued: 0 });
    owner.reply = () => ({ status: 404 });
    for (let i = 0; i < 10; i++) await client.request(get);
    owner.reply = () => ({ fault: 'hang' });
    for (let i = 0; i < 10; i++) {
      const controller = new AbortController();
      const hanging = client.request({ ...get, signal: controller.signal });
      await client.request(get);
      controller.abort();
      await hanging;
    }
    expect(client.isServing).toBe(true);
  });

  test('aborted requests do not hide faults in between', async () => {
    const client = clientOf();
    for (let i = 0; i < 5; i++) {
      await failTimes(client, 1);
      owner.reply = () => ({ fault: 'hang' });
      const controller = new AbortController();
      const hanging = client.request({ ...get, signal: controller.signal });
      setImmediate(() => controller.abort());
      await hanging;
    }
    expect(client.isServing).toBe(false);
  });

  test('after the open period one request tries, others are still refused, and a success closes it', async () => {
    const clock = new FakeClock();
    const client = clientOf({}, clock);
    await failTimes(client, 5);
    const before = owner.requests.length;
    owner.reply = () => ({ body: 1, delayMs: 30 });
    await clock.advance(100);
    const tries = await Promise.all([client.request(get), client.request(get), client.request(get)]);
    expect(tries.map((answer) => (answer.kind === 'fault' ? answer.reason : answer.kind))).toEqual([
      'found',
      'breaker_open',
      'breaker_open',
    ]);
    expect(owner.requests.length - before).toBe(1);
    expect(client.isServing).toBe(true);
    expect(await openGauge()).toBe(false);
  });

  test('a failed try opens it for another period, counted from its start', async () => {
    const clock = new FakeClock();
    const client = clientOf({ timeoutMs: 60 }, clock);
    await failTimes(client, 5);
    owner.reply = () => ({ fault: 'hang' });
    await clock.advance(100);
    const hanging = client.request(get);
    await vi.waitFor(() => expect(owner.inFlight).toBe(1), patiently);
    await clock.advance(60);
    expect(await hanging).toEqual({ kind: 'fault', reason: 'timeout' });
    expect(client.waitMs).toBe(40);
  });

  test('a try that is aborted does not close it', async () => {
    const clock = new FakeClock();
    const client = clientOf({}, clock);
    await failTimes(client, 5);
    owner.reply = () => ({ fault: 'hang' });
    await clock.advance(100);
    const controller = new AbortController();
    const hanging = client.request({ ...get, signal: controller.signal });
    await vi.waitFor(() => expect(owner.inFlight).toBe(1), patiently);
    controller.abort();
    expect(await hanging).toEqual({ kind: 'fault', reason: 'aborted' });
    expect(client.isServing).toBe(false);
  });

  test('the owner is tried at the end of every open period even if nobody asks', async () => {
    const clock = new FakeClock();
    const client = clientOf({}, clock);
    const probe = vi.fn(() => void client.request(get));
    client.onProbe(probe);
    await failTimes(client, 5);
    await clock.advance(100);
    await vi.waitFor(() => expect(client.waitMs).toBe(100), patiently);
    expect(changes).toEqual([true]); // a failed try is no change
    owner.reply = () => ({ body: 1 });
    await clock.advance(100);
    await vi.waitFor(() => expect(client.isServing).toBe(true), patiently);
    expect(probe).toHaveBeenCalledTimes(2);
    expect(changes).toEqual([true, false]);
    await clock.advance(1000);
    expect(probe).toHaveBeenCalledTimes(2);
  });
});

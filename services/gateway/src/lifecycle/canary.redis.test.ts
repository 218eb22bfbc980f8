import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { RedisConnections } from '@event-gateway/redis';
import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createReadingReplica, endReadingReplicas, groupRow, publish, type ReadingReplica, seriesOf } from '../../test/reading-replica.js';
import { Canary } from './canary.js';

let server: RedisServer;
let connections: RedisConnections;
let canary: Canary;
let replica: ReadingReplica;
let metrics: Metrics;

beforeEach(async () => {
  server = await startRedisServer();
  connections = new RedisConnections({ url: server.url, commandTimeoutMs: 200 }, systemClock, silentLogger);
  metrics = new Metrics();
  const options = { replicaId: 'r1', intervalMs: 50, maxDelayMs: 400 };
  canary = new Canary(connections.command, systemClock, silentLogger, metrics, options);
  replica = createReadingReplica(server, 'r1', { canary: { seen: (id) => canary.seen(id) } });
  connections.start();
  replica.connections.start();
});
afterEach(async () => {
  await canary.stop();
  connections.stop();
  await endReadingReplicas();
  await server.stop();
});

const age = () => seriesOf(metrics, 'gateway_canary_seconds').then(Number);

describe('the canary', () => {
  test('comes back through the reader, leaves nothing pending and is no entry of the event stream', async () => {
    replica.source.start();
    canary.start();
    await eventually(async () => expect(await server.call('XLEN', 'gateway.canary:r1')).toBe(1));
    await eventually(async () => expect(await age()).toBeLessThan(0.3));
    expect(canary.isLate()).toBe(false);
    expect(replica.handler.events).toEqual([]);
    await replica.source.drain();
    expect(await server.call('XPENDING', 'gateway.canary:r1', 'gateway-r1')).toEqual([0, null, null, null]);
    expect(Number(await server.call('PTTL', 'gateway.canary:r1'))).toBeGreaterThan(0);
    expect(await groupRow(server, 'gateway-r1')).toBeDefined();
  });

  test('is late when the loop is stuck although everything else is well, and in time again afterwards', async () => {
    replica.source.start();
    canary.start();
    await eventually(() => replica.source.isReady().length === 0);
    replica.handler.hold();
    await publish(server, ['a']);
    await eventually(() => canary.isLate());
    expect(await age()).toBeGreaterThan(0.4);
    replica.handler.release();
    await eventually(() => !canary.isLate());
  });

  test('is not late while Redis does not answer, nor right after it is back', async () => {
    replica.source.start();
    canary.start();
    await eventually(async () => expect(await age()).toBeLessThan(0.3));
    const seen: boolean[] = [];
    const watching = setInterval(() => seen.push(canary.isLate()), 5);
    server.pause();
    await eventually(async () => expect(await age()).toBeGreaterThan(1.5));
    server.resume();
    await eventually(async () => expect(await age()).toBeLessThan(0.3));
    clearInterval(watching);
    expect(seen).not.toContain(true);
  });

  test('is not waited for while there is no reader', async () => {
    canary.start();
    await eventually(() => connections.command.isUp);
    await eventually(async () => expect(await age()).toBeGreaterThan(0.6));
    expect(canary.isLate()).toBe(false);
    expect(await server.call('EXISTS', 'gateway.canary:r1')).toBe(0);
  });
});

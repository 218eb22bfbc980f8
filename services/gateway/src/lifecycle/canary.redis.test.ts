import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { RedisConnections } from '@event-gateway/redis';
import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createReadingReplica,
  endReadingReplicas,
  groupRow,
  killReader,
  publish,
  type ReadingReplica,
  seriesOf,
} from '../../test/reading-replica.js';
import { Canary } from './canary.js';
import { CanaryMetrics } from './canary-metrics.js';

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
  canary = new Canary(connections.command, systemClock, silentLogger, new CanaryMetrics(metrics), options);
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
    await eventually(() => replica.source.unreadyReasons().length === 0);
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

  // The canary's stream had gone with Redis's data and only a reader makes it anew: none could be sent, so none was late, and a replica
  // that read nothing for an hour was ready all the time.
  test('is late, too, when it cannot even be sent because no reader makes its stream anew', async () => {
    replica.source.start();
    canary.start();
    await eventually(async () => expect(await server.call('XLEN', 'gateway.canary:r1')).toBe(1));
    await replica.kill();
    await server.call('FLUSHALL');
    await eventually(() => canary.isLate());
    expect(await server.call('EXISTS', 'gateway.canary:r1')).toBe(0);
  });

  test('is not late when its stream has gone and a living reader makes it anew', async () => {
    replica.source.start();
    canary.start();
    const seen: boolean[] = [];
    const watching = setInterval(() => seen.push(canary.isLate()), 5);
    for (let i = 0; i < 5; i++) {
      await eventually(async () => expect(await age()).toBeLessThan(0.1));
      await server.call('FLUSHALL');
      await eventually(async () => expect(await server.call('EXISTS', 'gateway.canary:r1')).toBe(1));
    }
    clearInterval(watching);
    expect(seen).not.toContain(true);
  });

  // A promoted host with a slower clock gives lower ids; the canary that was awaited from the old one is none of its.
  test('is watched on when its stream begins anew with lower ids', async () => {
    replica.source.start();
    canary.start();
    await eventually(() => replica.source.unreadyReasons().length === 0);
    await server.call('XADD', 'gateway.canary:r1', '99999999999999-1', 'at_ms', '0');
    await eventually(async () =>
      expect(String(await server.call('XREVRANGE', 'gateway.canary:r1', '+', '-'))).toContain('99999999999999-2'),
    );
    replica.handler.hold();
    await publish(server, ['a']);
    await eventually(() => canary.isLate());
    await killReader(server, 'r1');
    replica.handler.release();
    await eventually(() => !canary.isLate());
    await replica.kill();
    await eventually(() => canary.isLate());
  });

  test('is not waited for while Redis takes none', async () => {
    replica.source.start();
    canary.start();
    await eventually(async () => expect(await server.call('XLEN', 'gateway.canary:r1')).toBe(1));
    await server.call('CONFIG', 'SET', 'maxmemory', 1);
    await replica.kill();
    await eventually(async () => expect(await age()).toBeGreaterThan(1));
    expect(canary.isLate()).toBe(false);
  });

  test('is not waited for while there is no reader', async () => {
    canary.start();
    await eventually(() => connections.command.isUp);
    await eventually(async () => expect(await age()).toBeGreaterThan(0.6));
    expect(canary.isLate()).toBe(false);
    expect(await server.call('EXISTS', 'gateway.canary:r1')).toBe(0);
  });
});

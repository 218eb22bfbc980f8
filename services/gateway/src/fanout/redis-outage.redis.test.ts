import { eventually, FleetHome, type RedisServer, startRedisSentinel, startRedisServer } from '@event-gateway/fleet';
import { RedisConnections } from '@event-gateway/redis';
import { type Logger, Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { endReadingReplicas, publish, RecordingHandler, startReadingReplica, stream } from '../../test/reading-replica.js';
import { Canary } from '../lifecycle/canary.js';
import { CanaryMetrics } from '../lifecycle/canary-metrics.js';
import { Fence } from '../replica/fence.js';
import { GroupJanitor } from '../replica/group-janitor.js';
import { ReplicaRegistry } from '../replica/registry.js';
import { StreamMetrics } from './stream/stream-metrics.js';
import { StreamSource } from './stream-source.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await endReadingReplicas();
});

async function server(): Promise<RedisServer> {
  const redis = await startRedisServer();
  cleanups.push(() => redis.stop());
  return redis;
}

/** Everything of a replica that talks to Redis by itself, with what it logs. */
async function startEverything(redis: RedisServer): Promise<{ lines: string[]; source: StreamSource; handler: RecordingHandler }> {
  const lines: string[] = [];
  const take = (_: object, message: string): void => void lines.push(message);
  const logger: Logger = { debug: () => undefined, info: take, warn: take, error: take, child: () => logger };
  const connections = new RedisConnections({ url: redis.url, commandTimeoutMs: 300 }, systemClock, logger);
  const [handler, metrics] = [new RecordingHandler(), new Metrics()];
  const { command } = connections;
  const figures = () => ({ connections: 0, users: 0, lagEntries: 0, lagSeconds: 0, pending: 0, draining: false });
  const lease = { replicaId: 'r1', incarnation: 'i1', leaseTtlMs: 3000, isFenced: true, stream, destroysGroupOnStop: false };
  const registry = new ReplicaRegistry(command, systemClock, logger, figures, () => undefined, lease);
  const canary = new Canary(command, systemClock, logger, new CanaryMetrics(metrics), {
    replicaId: 'r1',
    intervalMs: 200,
    maxDelayMs: 2000,
  });
  const janitor = new GroupJanitor(command, systemClock, logger, { stream, groupRetentionMs: 1000 });
  const fence = new Fence(registry, logger, { replicaId: 'r1' });
  const source = new StreamSource(
    { connections, clock: systemClock, logger, handler, warmer: handler, fence, canary, metrics: new StreamMetrics(metrics) },
    {
      replicaId: 'r1',
      stream,
      readBatchEntries: 256,
      readBlockMs: 200,
      backlogMaxAgeMs: 300_000,
      readyMaxLagMs: 5000,
      usesSharedGroup: false,
    },
  );
  connections.subscriber.subscribe('channel', () => undefined);
  const parts = [registry, source, canary, janitor];
  connections.start();
  for (const part of parts) part.start();
  cleanups.push(async () => {
    connections.stop();
    await Promise.all(parts.map((part) => part.stop()));
  });
  await eventually(() => source.unreadyReasons().length === 0);
  return { lines, source, handler };
}

describe('a Redis that is gone for a while', () => {
  test.each(['stopped', 'killed'])(
    '(%s) costs a few lines and no CPU, and everything works within two seconds of its return',
    async (how) => {
      const redis = await server();
      const { lines, source, handler } = await startEverything(redis);
      await redis.call('SAVE');
      lines.length = 0;
      if (how === 'stopped') redis.pause();
      else await redis.kill();
      const before = process.cpuUsage();
      const goneAtMs = performance.now();
      await eventually(() => performance.now() - goneAtMs > 5000);
      const { user, system } = process.cpuUsage(before);
      // Reminders come every 20 s, so a minute adds two to these.
      expect(lines.length).toBeLessThanOrEqual(3);
      expect((user + system) / 1000 / 5000).toBeLessThan(0.15);
      if (how === 'stopped') redis.resume();
      else await redis.start();
      const backAtMs = performance.now();
      // What is published before the replica has noticed that Redis is another one is covered by the gap that it tells.
      await eventually(async () => {
        await publish(redis, ['after']);
        expect(handler.names).toContain('after');
      });
      expect(performance.now() - backAtMs).toBeLessThan(2000);
      await eventually(() => source.unreadyReasons().length === 0);
      expect(lines.length).toBeLessThanOrEqual(10);
    },
  );
});

test('a failover by Sentinel: the reader finds the new master, and everybody is told that writes may be lost', async () => {
  const home = new FleetHome();
  cleanups.push(() => home.close());
  const master = await startRedisServer({ home });
  const standby = await startRedisServer({ home, replicaOf: master.port });
  const sentinel = await startRedisSentinel({ home, masterPort: master.port });
  const replica = await startReadingReplica(master, 'r1', {
    redis: { url: 'redis://unused', sentinels: [`127.0.0.1:${sentinel.port}`], sentinelMaster: sentinel.masterName },
  });
  await publish(master, ['a']);
  await eventually(() => expect(replica.handler.names).toEqual(['a']));
  await eventually(async () => expect(await standby.call('XLEN', stream)).toBe(1));
  await eventually(async () => expect(String(await master.call('INFO', 'replication'))).toContain('state=online'));
  // Sentinel asks the master for its replicas every ten seconds.
  const asked = new RedisConnections({ url: `redis://127.0.0.1:${sentinel.port}`, commandTimeoutMs: 1000 }, systemClock, silentLogger);
  cleanups.push(() => asked.stop());
  asked.start();
  await eventually(
    async () =>
      expect(JSON.stringify(await asked.command.call('SENTINEL', 'REPLICAS', sentinel.masterName))).toContain(String(standby.port)),
    {
      timeoutMs: 15_000,
    },
  );
  await master.kill();
  await eventually(() => expect(replica.handler.gaps).toHaveLength(1), { timeoutMs: 20_000 });
  await publish(standby, ['b']);
  await eventually(() => expect(replica.handler.story).toEqual(['a', 'gap:gap', 'b']));
});

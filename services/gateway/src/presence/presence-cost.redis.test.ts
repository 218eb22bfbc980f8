import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { RedisConnections, type ScriptCall } from '@event-gateway/redis';
import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LeaseStore } from './lease-store.js';
import { Presence } from './presence.js';
import { type PresenceRedis, ScriptDoor } from './presence-scripts.js';
import { RedisHealth } from './redis-health.js';
import { RedisTime } from './redis-time.js';
import { TestHub, user } from './test/test-hub.js';

const userCount = 10_000;
const users = Array.from({ length: userCount }, (_, i) => user(`u${i}`));
const times = { leaseTtlMs: 60_000, renewMs: 20_000, graceMs: 15_000, sweepMs: 1000, commandTimeoutMs: 5000 };

let server: RedisServer;
let connections: RedisConnections;
/** What the test asks must not fill the queue that the product writes to. */
let onlookers: RedisConnections;

/** Counts round trips on their way. */
class CountingRedis implements PresenceRedis {
  readonly trips = new Map<string, number>();

  runScripts(calls: readonly ScriptCall[]): Promise<readonly unknown[]> {
    const name = calls[0]?.script.name ?? '';
    this.trips.set(name, (this.trips.get(name) ?? 0) + 1);
    return connections.command.runScripts(calls);
  }
}

beforeAll(async () => {
  server = await startRedisServer();
  const connect = (): RedisConnections => new RedisConnections({ url: server.url, commandTimeoutMs: 5000 }, systemClock, silentLogger);
  connections = connect();
  onlookers = connect();
  connections.start();
  onlookers.start();
  await eventually(() => connections.command.isUp && onlookers.command.isUp);
});
afterAll(async () => {
  connections.stop();
  onlookers.stop();
  await server.stop();
});

async function cost(work: () => Promise<void>): Promise<{ commands: number; cpuMs: number }> {
  const read = async (): Promise<{ commands: number; cpuMs: number }> => {
    const stats = String(await connections.command.call('INFO', 'commandstats'));
    const cpu = String(await connections.command.call('INFO', 'cpu'));
    const figure = (text: string, name: RegExp): number => Number(name.exec(text)?.[1] ?? 0);
    return {
      commands: figure(stats, /cmdstat_evalsha:calls=(\d+)/),
      cpuMs: 1000 * (figure(cpu, /used_cpu_user:([\d.]+)/) + figure(cpu, /used_cpu_sys:([\d.]+)/)),
    };
  };
  const before = await read();
  await work();
  const after = await read();
  return { commands: after.commands - before.commands, cpuMs: after.cpuMs - before.cpuMs };
}

test('ten thousand leases: a hundredth of the commands of one-by-one writes, and less than half of Redis’s CPU', async () => {
  const door = new ScriptDoor(connections.command, systemClock, new RedisHealth(systemClock, silentLogger));
  const store = new LeaseStore(door, new RedisTime(), systemClock, { ...times, holder: 'r0#1' });
  const states = users.map((userId) => ({ userId, activeAgeMs: 0, leftAgeMs: undefined, confirmedMs: 0 }));
  await store.write(states); // both measure renewals, on keys that exist
  const coalesced = await cost(async () => {
    for (let from = 0; from < userCount; from += 1000) await store.write(states.slice(from, from + 1000));
  });
  const oneByOne = await cost(async () => {
    for (let from = 0; from < userCount; from += 100) {
      await Promise.all(states.slice(from, from + 100).map((state) => store.write([state])));
    }
  });
  expect(coalesced.commands).toBe(userCount / 100);
  expect(oneByOne.commands).toBe(userCount);
  expect(coalesced.cpuMs, `${oneByOne.cpuMs} ms one by one`).toBeLessThan(oneByOne.cpuMs / 2);
});

test('ten thousand who reconnect within ten seconds cost at most a fiftieth of their number in round trips, peers included', async () => {
  const hub = new TestHub();
  const redis = new CountingRedis();
  const deps = { hub, redis, metrics: new Metrics(), clock: systemClock, logger: silentLogger };
  const presence = new Presence(deps, { ...times, holder: 'r1#1', audience: 'direct' });
  presence.start();
  const beganMs = systemClock.nowMs();
  // Ten a tick of ten milliseconds: a thousand a second, as fast as a replica accepts them.
  for (let next = 0; next < userCount; ) {
    const dueCount = Math.min(userCount, Math.floor(systemClock.nowMs() - beganMs));
    while (next < dueCount) hub.connect(users[next++] ?? user('nobody'));
    await systemClock.sleep(10);
  }
  await eventually(async () => expect(Number(await onlookers.command.call('ZCARD', 'presence.online'))).toBe(userCount));
  await eventually(async () => {
    const holders = await onlookers.command.pipeline(users.map((id) => ['ZSCORE', `presence:${id}`, 'r1#1'] as const));
    return holders.every((score) => score !== null);
  });
  presence.stop();
  const trips = [...redis.trips].filter(([name]) => name !== 'claim-sweep.lua').reduce((sum, [, count]) => sum + count, 0);
  expect(trips, JSON.stringify([...redis.trips])).toBeLessThanOrEqual(userCount / 50);
});

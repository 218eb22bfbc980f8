import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, startRedisServer } from '@event-gateway/fleet';
import type { Bench } from '../bench.js';
import { type RedisUsage, redisUsage, usageBetween } from '../measure/redis-usage.js';
import type { LeaseCalls } from '../peers/lease-calls.js';
import { Child } from '../processes/child.js';
import { formatNumber } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import { type GatewayTarget, metricsOf } from '../targets/gateway.js';
import type { Scenario } from './scenario.js';

/** One kind of work: how often it was done, what it took of Redis, and in which time. */
interface Work {
  readonly what: string;
  readonly count: number;
  readonly seconds: number;
  readonly redis: RedisUsage;
}

export const presence: Scenario = {
  name: 'presence',
  about: 'Presence of many users in Redis: their coming, the renewals of their leases, their going; and renewals written one by one.',
  run: async (bench, recorder) => {
    const renewMs = String(bench.options.sizes.presence.renewMs);
    const shortGrace = { PRESENCE_GRACE_MS: '2000', RECONNECT_JITTER_MS: '500' };
    const target = await bench.startGateway({ env: { PRESENCE_RENEW_MS: renewMs, HEARTBEAT_MS: renewMs, ...shortGrace } });
    const idle = await measure('nobody there', target, async () => {
      await sleep(bench.options.sizes.presence.windowMs / 4);
      return 0;
    });
    const works = [await coming(bench, target), await renewing(bench, target), await going(bench, target)];
    await bench.stopTargets([target]);
    report(recorder, [...works.map((work) => withoutIdle(work, idle)), await oneByOne(bench)]);
  },
};

/** Less what Redis would have had to do for the replica anyway. */
function withoutIdle(work: Work, idle: Work): Work {
  const share = work.seconds / idle.seconds;
  const less = (one: number, other: number): number => Math.max(0, one - other * share);
  const { cpuUs, scripts, commands } = work.redis;
  return {
    ...work,
    redis: {
      cpuUs: less(cpuUs, idle.redis.cpuUs),
      scripts: less(scripts, idle.redis.scripts),
      commands: less(commands, idle.redis.commands),
    },
  };
}

async function measure(what: string, { redis }: GatewayTarget, work: () => Promise<number>): Promise<Work> {
  const before = await redisUsage(redis);
  const startMs = performance.now();
  const count = await work();
  return { what, count, seconds: (performance.now() - startMs) / 1000, redis: usageBetween(before, await redisUsage(redis)) };
}

async function coming(bench: Bench, target: GatewayTarget): Promise<Work> {
  const { users } = bench.options.sizes.presence;
  return measure('users come online', target, async () => {
    await bench.connect(target, { count: users });
    await untilOnline(target, users);
    return users;
  });
}

async function renewing(bench: Bench, target: GatewayTarget): Promise<Work> {
  const renewals = async (): Promise<number> =>
    (await metricsOf(target)).value('gateway_presence_renewals_total', { outcome: 'renewed' }) ?? 0;
  return measure('leases renewed by the gateway', target, async () => {
    const before = await renewals();
    await sleep(bench.options.sizes.presence.windowMs);
    return (await renewals()) - before;
  });
}

async function going(bench: Bench, target: GatewayTarget): Promise<Work> {
  return measure('users go offline', target, async () => {
    await bench.generator.close(target.name);
    await untilOnline(target, 0);
    return bench.options.sizes.presence.users;
  });
}

async function untilOnline({ redis }: GatewayTarget, count: number): Promise<void> {
  await eventually(async () => (await redis.call('ZCARD', 'presence.online')) === count, { timeoutMs: 60_000 });
}

async function oneByOne({ home, options }: Bench): Promise<Work> {
  const redis = await startRedisServer({ home });
  const writer = new Child<LeaseCalls>('lease-writer', new URL('../peers/one-by-one-leases.js', import.meta.url));
  const { users } = options.sizes.presence;
  const before = await redisUsage(redis);
  const ms = await writer.call('renewAll', { redisUrl: redis.url, users, concurrency: 1 });
  const used = usageBetween(before, await redisUsage(redis));
  await writer.stop();
  await redis.stop();
  return { what: 'leases renewed one by one', count: users, seconds: ms / 1000, redis: used };
}

function report(recorder: Recorder, works: readonly Work[]): void {
  const rows = works.map(({ what, count, seconds, redis }) => {
    const each = (value: number): number => value / Math.max(1, count);
    recorder.value(`presence/${what}/redis_cpu_us`, each(redis.cpuUs));
    recorder.value(`presence/${what}/commands`, each(redis.commands));
    return [what, ...[count, seconds, each(redis.cpuUs), each(redis.scripts), each(redis.commands)].map(formatNumber)];
  });
  recorder.table({
    title: 'What presence takes of Redis; the work of an idle replica is subtracted',
    columns: ['what', 'how many', 'in s', 'Redis CPU-µs each', 'scripts each', 'commands each, those inside of scripts included'],
    rows,
  });
}

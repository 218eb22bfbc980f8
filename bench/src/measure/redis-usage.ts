import type { RedisServer } from '@event-gateway/fleet';
import { cpuTimeUs } from '../host/cpu-time.js';

/** What a Redis has done since it was started. */
export interface RedisUsage {
  readonly cpuUs: number;
  /** Scripts called, by whatever name. */
  readonly scripts: number;
  /** Every command, those inside of scripts included. */
  readonly commands: number;
}

export async function redisUsage(redis: RedisServer): Promise<RedisUsage> {
  const stats = String(await redis.call('INFO', 'commandstats'));
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', count]) => ({ name, count: Number(count) }));
  const total = (wanted: (name: string) => boolean): number =>
    calls.filter(({ name }) => wanted(name)).reduce((sum, { count }) => sum + count, 0);
  return { cpuUs: cpuTimeUs(redis.pid), scripts: total((name) => name.startsWith('eval')), commands: total(() => true) };
}

export function usageBetween(before: RedisUsage, after: RedisUsage): RedisUsage {
  return { cpuUs: after.cpuUs - before.cpuUs, scripts: after.scripts - before.scripts, commands: after.commands - before.commands };
}

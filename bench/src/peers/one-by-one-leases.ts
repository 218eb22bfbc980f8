// Presence as it is often written: every renewal of every user is a small transaction of its own, with its own round trip.
import { Redis } from 'ioredis';
import { serveParent } from '../processes/serve-parent.js';
import { userId } from '../workload/user-id.js';
import type { LeaseCalls } from './lease-calls.js';

const leaseTtlMs = 60_000;

async function renewAll(redisUrl: string, users: number, concurrency: number): Promise<number> {
  const redis = new Redis(redisUrl, { enableAutoPipelining: false });
  const startMs = performance.now();
  const indexes = Array.from({ length: users }, (_, index) => index).values();
  const renewOneAfterAnother = async (): Promise<void> => {
    for (const index of indexes) {
      const user = userId(index);
      const untilMs = Date.now() + leaseTtlMs;
      await redis
        .multi()
        .zadd(`presence:${user}`, untilMs, 'replica')
        .pexpire(`presence:${user}`, leaseTtlMs)
        .zadd('presence.online', untilMs, user)
        .exec();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, renewOneAfterAnother));
  redis.disconnect();
  return performance.now() - startMs;
}

serveParent<LeaseCalls>({
  renewAll: ({ redisUrl, users, concurrency }) => renewAll(redisUrl, users, concurrency),
});

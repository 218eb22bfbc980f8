import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../network/free-port.js';
import { FleetHome } from '../processes/fleet-home.js';
import { waitUntilReady } from '../processes/wait-until-ready.js';
import { probeRedis } from './probe-redis.js';

export interface SentinelOptions {
  readonly masterPort: number;
  /** Default `main`. */
  readonly masterName?: string;
  /** The master is taken for dead after this silence; default 500. */
  readonly downAfterMs?: number;
  /** Default: one of its own, closed by `stop`. */
  readonly home?: FleetHome;
}

export interface RedisSentinel {
  readonly port: number;
  readonly masterName: string;
  stop(): Promise<void>;
}

/** One Sentinel that decides alone (quorum 1), which is enough to watch a failover on one machine. */
export async function startRedisSentinel(options: SentinelOptions): Promise<RedisSentinel> {
  const { masterPort, masterName = 'main', downAfterMs = 500 } = options;
  const home = options.home ?? new FleetHome();
  const port = await freePort();
  const path = join(home.folder(`sentinel-${port}`), 'sentinel.conf'); // a Sentinel writes what it learns into its own configuration
  writeFileSync(
    path,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor ${masterName} 127.0.0.1 ${masterPort} 1`,
      `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
      `sentinel failover-timeout ${masterName} 5000`,
    ].join('\n'),
  );
  const sentinel = home.spawn({ name: `sentinel-${port}`, command: 'redis-server', args: [path, '--sentinel'], env: {} });
  const stop = async (): Promise<void> => {
    await sentinel.kill();
    if (options.home === undefined) await home.close();
  };
  try {
    await waitUntilReady(sentinel, () => probeRedis({ port }));
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, masterName, stop };
}

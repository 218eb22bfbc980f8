import { fileURLToPath } from 'node:url';
import { type FakeOwners, type FleetHome, freePort, MetricsPage, startRedisServer } from '@event-gateway/fleet';
import { ServerProcess } from './server-process.js';
import type { Target } from './target.js';

export interface GatewayOptions {
  readonly home: FleetHome;
  readonly owners: FakeOwners;
  /** Default 1. */
  readonly replicas?: number;
  /** Over what is set for a measurement. */
  readonly env?: Readonly<Record<string, string>>;
  /** A folder into which every replica writes a CPU profile when it stops. */
  readonly profileDir?: string | undefined;
}

export interface GatewayTarget extends Target {
  /** Of each replica, in the order of `servers`. */
  readonly internalUrls: readonly string[];
}

const nodePath = process.execPath;
const main = fileURLToPath(new URL('../../../services/gateway/dist/main.js', import.meta.url));

/**
 * What differs from the defaults; everything else is as an operator has it. Thousands connect at once before a measurement begins,
 * and nobody waits for a drain after it.
 */
const measuredEnv = {
  ...{ HOST: '127.0.0.1', INTERNAL_HOST: '127.0.0.1', LOG_LEVEL: 'warn' },
  ...{ UPGRADES_PER_SECOND: '20000', UPGRADES_BURST: '20000', DRAIN_WINDOW_MS: '0' },
};

export async function startGateway({ home, owners, replicas = 1, env = {}, profileDir }: GatewayOptions): Promise<GatewayTarget> {
  const redis = await startRedisServer({ home });
  const started = [];
  for (let index = 1; index <= replicas; index++) {
    const [port, internalPort] = [await freePort(), await freePort()];
    const name = `gateway-${index}`;
    const own = { REPLICA_ID: name, PORT: String(port), INTERNAL_PORT: String(internalPort), REDIS_URL: redis.url };
    const profiled = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
    const process = { command: nodePath, args: [...profiled, main], env: { ...measuredEnv, ...owners.environment(), ...own, ...env } };
    started.push({
      server: new ServerProcess({ home, name: `${name}-${port}`, port, ...process }),
      internalUrl: `http://127.0.0.1:${internalPort}`,
    });
  }
  await Promise.all(started.map(({ server, internalUrl }) => server.until(() => isReady(internalUrl), 'ready')));
  return {
    ...{ name: 'gateway', protocol: 'gateway', format: 'gateway', redis },
    servers: started.map(({ server }) => server),
    internalUrls: started.map(({ internalUrl }) => internalUrl),
  };
}

async function isReady(internalUrl: string): Promise<boolean> {
  return fetch(`${internalUrl}/readyz`, { headers: { connection: 'close' } }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** The metrics page of a replica. */
export async function metricsOf({ internalUrls }: GatewayTarget, index = 0): Promise<MetricsPage> {
  return MetricsPage.scrape(`${internalUrls[index]}/metrics`);
}

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

export async function startGateway({ replicas = 1, ...options }: GatewayOptions): Promise<GatewayTarget> {
  const redis = await startRedisServer({ home: options.home });
  const started: StartedReplica[] = [];
  for (let number = 1; number <= replicas; number++) {
    started.push(launch(options, { number, redisUrl: redis.url, port: await freePort(), internalPort: await freePort() }));
  }
  await Promise.all(started.map(untilReady));
  return {
    ...{ name: 'gateway', protocol: 'gateway', format: 'gateway', redis },
    servers: started.map(({ server }) => server),
    internalUrls: started.map(({ internalUrl }) => internalUrl),
  };
}

/** The target with one more replica, which listens on `port`; the others do not know that it was not there from the start. */
export async function addReplica(target: GatewayTarget, port: number, options: Omit<GatewayOptions, 'replicas'>): Promise<GatewayTarget> {
  const number = target.servers.length + 1;
  const replica = launch(options, { number, redisUrl: target.redis.url, port, internalPort: await freePort() });
  await untilReady(replica);
  return { ...target, servers: [...target.servers, replica.server], internalUrls: [...target.internalUrls, replica.internalUrl] };
}

interface StartedReplica {
  readonly server: ServerProcess;
  readonly internalUrl: string;
}

interface Place {
  readonly number: number;
  readonly redisUrl: string;
  readonly port: number;
  readonly internalPort: number;
}

function launch(
  { home, owners, env = {}, profileDir }: Omit<GatewayOptions, 'replicas'>,
  { number, redisUrl, port, internalPort }: Place,
): StartedReplica {
  const name = `gateway-${number}`;
  const own = { REPLICA_ID: name, PORT: String(port), INTERNAL_PORT: String(internalPort), REDIS_URL: redisUrl };
  const profiled = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const process = { command: nodePath, args: [...profiled, main], env: { ...measuredEnv, ...owners.environment(), ...own, ...env } };
  const server = new ServerProcess({ home, name: `${name}-${port}`, port, ...process });
  return { server, internalUrl: `http://127.0.0.1:${internalPort}` };
}

async function untilReady({ server, internalUrl }: StartedReplica): Promise<void> {
  await server.until(() => isReady(internalUrl), 'ready');
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

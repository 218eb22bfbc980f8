import { eventually } from './eventually.js';
import { freePort } from './network/free-port.js';
import { Nginx } from './nginx/nginx.js';
import { FleetHome } from './processes/fleet-home.js';
import { type RedisServer, type RedisServerOptions, startRedisServer } from './redis/redis-server.js';
import type { Environment } from './services/node-service.js';
import { Replica } from './services/replica.js';
import { Sandbox } from './services/sandbox.js';
import { FakeOwners } from './tools/fake-owners.js';
import { RecordingClient } from './tools/recording-client.js';

export interface FleetOptions {
  /** Default 2. */
  readonly replicas?: number;
  /** Who answers for users, conversations and keys; default `fake`: a test decides every answer. */
  readonly owners?: 'fake' | 'sandbox';
  /** Default true. */
  readonly nginx?: boolean;
  /** Values of nginx's template that differ from the fleet's. */
  readonly nginxValues?: Readonly<Record<string, string>>;
  /** For every replica. */
  readonly env?: Environment;
  /** For the sandbox. */
  readonly sandboxEnv?: Environment;
  readonly redis?: Omit<RedisServerOptions, 'home'>;
  /** Default: free ones. */
  readonly nginxPort?: number;
}

export interface ConnectOptions {
  /** Straight to this replica; default: through nginx. */
  readonly replica?: Replica;
  readonly cursor?: string;
}

/** An event as a publisher writes it. */
export interface PublishedEvent {
  readonly type: string;
  readonly recipients: readonly string[];
  readonly conversation_id?: string;
  readonly event_id?: string;
  readonly occurred_at?: string;
  readonly payload?: unknown;
}

interface FleetParts {
  readonly home: FleetHome;
  readonly redis: RedisServer;
  readonly owners: FakeOwners | Sandbox;
  readonly replicas: readonly Replica[];
  readonly nginx: Nginx | undefined;
}

/** Redis, the owners, N replicas and nginx on the loopback interface. */
export class Fleet {
  readonly home: FleetHome;
  readonly redis: RedisServer;
  readonly replicas: readonly Replica[];
  readonly #parts: FleetParts;
  readonly #clients = new Set<RecordingClient>();

  constructor(parts: FleetParts) {
    this.home = parts.home;
    this.redis = parts.redis;
    this.replicas = parts.replicas;
    this.#parts = parts;
  }

  get nginx(): Nginx {
    if (this.#parts.nginx === undefined) throw new Error('this fleet was started without nginx');
    return this.#parts.nginx;
  }

  get owners(): FakeOwners {
    if (this.#parts.owners instanceof FakeOwners) return this.#parts.owners;
    throw new Error('the owners of this fleet are the sandbox');
  }

  get sandbox(): Sandbox {
    if (this.#parts.owners instanceof Sandbox) return this.#parts.owners;
    throw new Error('the owners of this fleet are fake ones');
  }

  /** The n-th one, from 0. */
  replica(index: number): Replica {
    const replica = this.replicas[index];
    if (replica === undefined) throw new Error(`this fleet has ${this.replicas.length} replicas`);
    return replica;
  }

  async token(userId: string): Promise<string> {
    const { owners } = this.#parts;
    return owners instanceof FakeOwners ? owners.issuer.token(userId) : owners.login(userId);
  }

  /** An open socket of that user that has had its hello. */
  async connect(userId: string, { replica, cursor }: ConnectOptions = {}): Promise<RecordingClient> {
    const client = await RecordingClient.open({
      url: replica?.wsUrl ?? this.nginx.wsUrl,
      token: await this.token(userId),
      ...(cursor === undefined ? {} : { cursor }),
    });
    this.#clients.add(client);
    await client.waitFor('hello');
    return client;
  }

  /** Puts an event on the stream in the fast form; its stream id. */
  async publish({ recipients, ...envelope }: PublishedEvent): Promise<string> {
    return this.publishFields('recipients', JSON.stringify(recipients), 'envelope', JSON.stringify(envelope));
  }

  /** An entry of any shape: names and values in turn. */
  async publishFields(...fields: readonly (string | Uint8Array)[]): Promise<string> {
    return String(await this.redis.call('XADD', 'messenger.events', '*', ...fields));
  }

  /** Resolves when every group on the stream has read up to `id` and acknowledged everything. */
  async untilHandled(id: string, stream = 'messenger.events'): Promise<void> {
    await eventually(
      async () => {
        const groups = (await this.redis.call('XINFO', 'GROUPS', stream)) ?? [];
        const late = (Array.isArray(groups) ? groups : []).map(String).filter((group) => !hasHandled(group, id));
        if (late.length > 0) throw new Error(`not up to ${id} yet: ${late.join('; ')}`);
      },
      { timeoutMs: 15_000 },
    );
  }

  /** Ends everything, kill -9 for whoever does not listen, and removes every file. */
  async stop(): Promise<void> {
    for (const client of this.#clients) client.terminate();
    if (this.#parts.owners instanceof FakeOwners) await this.#parts.owners.stop();
    await this.redis.stop();
    await this.home.close();
  }
}

/** @param group one row of XINFO GROUPS, its names and values joined by commas */
function hasHandled(group: string, id: string): boolean {
  const value = (name: string): string => new RegExp(`(?:^|,)${name},([^,]*)`).exec(group)?.[1] ?? '';
  const [ms = 0, seq = 0] = value('last-delivered-id').split('-').map(Number);
  const [wantedMs = 0, wantedSeq = 0] = id.split('-').map(Number);
  const hasRead = ms > wantedMs || (ms === wantedMs && seq >= wantedSeq);
  return hasRead && value('pending') === '0';
}

/** @throws with the last log lines of whatever did not come up; nothing is left behind then */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const home = new FleetHome();
  try {
    return new Fleet(await startParts(home, options));
  } catch (error) {
    await home.close();
    throw error;
  }
}

async function startParts(home: FleetHome, options: FleetOptions): Promise<FleetParts> {
  const redis = await startRedisServer({ ...options.redis, home });
  const sandboxPort = options.owners === 'sandbox' ? await freePort() : undefined;
  const replicaPorts = await freePorts(options.replicas ?? 2);
  const statusUrls = replicaPorts.map(({ internalPort }) => `http://127.0.0.1:${internalPort}`).join(',');
  const owners =
    sandboxPort === undefined
      ? await FakeOwners.start()
      : new Sandbox({ home, port: sandboxPort, redisUrl: redis.url, env: { REPLICA_STATUS_URLS: statusUrls, ...options.sandboxEnv } });
  if (owners instanceof Sandbox) await owners.start();
  const env = { REDIS_URL: redis.url, ...owners.environment(), ...options.env };
  const replicas = replicaPorts.map((ports, index) => new Replica({ home, id: `gateway-${index + 1}`, ...ports, env }));
  const [nginx] = await Promise.all([startNginx(home, replicas, owners, options), ...replicas.map((replica) => replica.start())]);
  return { home, redis, owners, replicas, nginx };
}

async function startNginx(
  home: FleetHome,
  replicas: readonly Replica[],
  owners: FakeOwners | Sandbox,
  options: FleetOptions,
): Promise<Nginx | undefined> {
  if (options.nginx === false) return undefined;
  return Nginx.start({
    home,
    gatewayPorts: replicas.map(({ port }) => port),
    ...(options.nginxPort === undefined ? {} : { port: options.nginxPort }),
    ...(owners instanceof Sandbox ? { sandboxUrl: owners.url } : {}),
    ...(options.nginxValues === undefined ? {} : { values: options.nginxValues }),
  });
}

/** One after the other: taken at once, two of them could be the same. */
async function freePorts(count: number): Promise<{ port: number; internalPort: number }[]> {
  const taken = new Set<number>();
  while (taken.size < 2 * count) taken.add(await freePort());
  const ports = [...taken];
  return Array.from({ length: count }, (_, index) => ({ port: ports[2 * index] ?? 0, internalPort: ports[2 * index + 1] ?? 0 }));
}

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.js';
import { freePort } from '../network/free-port.js';
import type { FleetHome } from '../processes/fleet-home.js';
import { type RedisSentinel, startRedisSentinel } from '../redis/redis-sentinel.js';
import { type RedisServer, startRedisServer } from '../redis/redis-server.js';
import { type Reply, RespClient } from '../redis/resp-client.js';
import type { Environment } from '../services/node-service.js';
import type { Variant } from './schedule.js';

/**
 * A master that nobody follows takes no writes. Without it a master that was cut off, or hung while it was replaced, goes on taking what
 * will be thrown away when it is told; whoever reads from its successor never hears of that, and can tell nobody.
 */
const refusesAlone = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '2'];

/** How long a Sentinel may take to promote, on a machine that is busy with other things. */
const promotionMs = 20_000;

/** The Redis of a run, and what can happen to it. */
export class Bus {
  /** The variables that point a replica at it. */
  readonly environment: Environment;
  readonly #servers: readonly RedisServer[];
  readonly #sentinel: RedisSentinel | undefined;

  private constructor(servers: readonly RedisServer[], sentinel: RedisSentinel | undefined) {
    this.#servers = servers;
    this.#sentinel = sentinel;
    this.environment =
      sentinel === undefined
        ? { REDIS_URL: servers[0]?.url ?? '' }
        : { REDIS_SENTINELS: `127.0.0.1:${sentinel.port}`, REDIS_SENTINEL_MASTER: sentinel.masterName };
  }

  static async start(home: FleetHome, variant: Variant): Promise<Bus> {
    if (variant === 'single') return new Bus([await startRedisServer({ home, persistence: 'aof' })], undefined);
    const master = await startRedisServer({ home, args: refusesAlone });
    const replicas = [1, 2].map(() => startRedisServer({ home, args: refusesAlone, replicaOf: master.port }));
    const servers = [master, ...(await Promise.all(replicas))];
    const sentinel = await startRedisSentinel({ home, masterPort: master.port });
    const bus = new Bus(servers, sentinel);
    // It begins a failover of the same master again only after twice this time.
    await bus.#askSentinel('SENTINEL', 'SET', sentinel.masterName, 'failover-timeout', '1500');
    await bus.#untilReplicated();
    return bus;
  }

  async masterPort(): Promise<number> {
    const [first] = this.#servers;
    if (this.#sentinel === undefined) return first?.port ?? 0;
    const address = await this.#askSentinel('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#sentinel.masterName);
    return Number(Array.isArray(address) ? address[1] : 0);
  }

  /** One command to the master. @throws Redis's error, or that there is nobody to ask */
  async call(...command: readonly (string | number)[]): Promise<Reply> {
    return (await this.#master()).call(...command);
  }

  async pause(lastsMs: number): Promise<void> {
    const master = await this.#master();
    master.pause();
    await sleep(lastsMs);
    master.resume();
  }

  /** kill -9. With `keepData` every acknowledged write is back afterwards, else nothing. */
  async restart(lastsMs: number, { keepData }: { readonly keepData: boolean }): Promise<void> {
    const master = await this.#master();
    await master.kill();
    await sleep(lastsMs);
    await master.restart({ keepData });
  }

  /** kill -9, and back as it was `lastsMs` ago. */
  async rollBack(lastsMs: number): Promise<void> {
    const master = await this.#master();
    const files = join(master.dir, 'appendonlydir');
    const copy = `${master.dir}-before`;
    rmSync(copy, { recursive: true, force: true });
    cpSync(files, copy, { recursive: true }); // an entry that was half written is cut when it is loaded
    await sleep(lastsMs);
    await master.kill();
    rmSync(files, { recursive: true });
    cpSync(copy, files, { recursive: true });
    await master.start();
  }

  /**
   * The master goes, a replica takes over, and the master comes back as a replica of that one.
   * @param how `dead`: killed. `behind`: killed, and what was written for `lastsMs` before that has reached no replica.
   * `hung`: stopped for `lastsMs` at least, and in the belief of still being the master when it wakes up.
   */
  async failOver(how: 'dead' | 'behind' | 'hung', lastsMs: number): Promise<void> {
    const master = await this.#master();
    if (how === 'behind') await this.#cutReplicasOff(master, lastsMs);
    if (how === 'hung') master.pause();
    else await master.kill();
    const hung = how === 'hung' ? sleep(lastsMs) : Promise.resolve();
    await eventually(async () => (await this.masterPort()) !== master.port, { timeoutMs: promotionMs, what: 'the promotion' });
    await hung;
    if (how === 'hung') master.resume();
    else {
      await master.start();
      await master.call('REPLICAOF', '127.0.0.1', await this.masterPort());
    }
    await this.#untilReplicated();
  }

  async #cutReplicasOff(master: RedisServer, lastsMs: number): Promise<void> {
    await master.call('CONFIG', 'SET', 'min-replicas-to-write', 0);
    const nobodysPort = await freePort();
    const replicas = this.#servers.filter((server) => server !== master);
    await Promise.all(replicas.map((replica) => replica.call('REPLICAOF', '127.0.0.1', nobodysPort)));
    await sleep(lastsMs);
  }

  /** Everybody follows the master again. */
  async #untilReplicated(): Promise<void> {
    const areFollowing = async (): Promise<boolean> => {
      const online = String(await this.call('INFO', 'replication')).match(/state=online/g);
      return online?.length === this.#servers.length - 1;
    };
    await eventually(areFollowing, { timeoutMs: promotionMs, what: 'the replication' });
  }

  async #master(): Promise<RedisServer> {
    const port = await this.masterPort();
    const master = this.#servers.find((server) => server.port === port);
    if (master === undefined) throw new Error(`no server has the master's port ${port}`);
    return master;
  }

  async #askSentinel(...command: readonly string[]): Promise<Reply> {
    const client = await RespClient.connect({ port: this.#sentinel?.port ?? 0 });
    try {
      return await client.call(...command);
    } finally {
      client.close();
    }
  }
}

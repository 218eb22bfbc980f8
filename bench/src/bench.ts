import { FakeOwners, FleetHome } from '@event-gateway/fleet';
import type { BenchOptions } from './bench-options.js';
import { LoadGenerator } from './load/load-generator.js';
import { Tokens } from './measure/tokens.js';
import { Publisher } from './publish/publisher.js';
import { centrifugoVersion, startCentrifugo } from './targets/centrifugo.js';
import { addReplica, type GatewayOptions, type GatewayTarget, startGateway } from './targets/gateway.js';
import { startPlainWs, startSocketIo } from './targets/peers.js';
import { serverOf, stopTarget, type Target, type TargetName } from './targets/target.js';
import type { Workload } from './workload/workload.js';

export interface ConnectedUsers {
  /** Default: the target's name. */
  readonly group?: string;
  /** Default 0. */
  readonly from?: number;
  readonly count: number;
  /** Default: the target's first. */
  readonly server?: number;
  readonly followsCursors?: boolean;
}

/** What every scenario stands on: the load generator, the publisher, the owners, and a way to start what is measured. */
export class Bench {
  readonly options: BenchOptions;
  readonly home: FleetHome;
  readonly owners: FakeOwners;
  readonly tokens: Tokens;
  readonly generator: LoadGenerator;
  readonly publisher: Publisher;
  readonly #running = new Set<Target>();

  private constructor(options: BenchOptions, owners: FakeOwners) {
    this.options = options;
    this.owners = owners;
    this.tokens = new Tokens(owners.issuer);
    this.home = new FleetHome();
    this.generator = new LoadGenerator(options.loadProcesses);
    this.publisher = new Publisher();
  }

  static async start(options: BenchOptions): Promise<Bench> {
    return new Bench(options, await FakeOwners.start());
  }

  /** The gateway first, then the peers that this run compares it with. */
  async startTargets({ without = [] }: { readonly without?: readonly TargetName[] } = {}): Promise<Target[]> {
    const wanted = this.options.targets.filter((one) => !without.includes(one));
    const targets = await Promise.all(wanted.map((name) => this.startTarget(name)));
    return targets.filter((target) => target !== undefined);
  }

  async startGateway(options: Partial<Pick<GatewayOptions, 'replicas' | 'env' | 'owners'>> = {}): Promise<GatewayTarget> {
    const target = await startGateway({ home: this.home, owners: this.owners, profileDir: this.options.profileDir, ...options });
    this.#running.add(target);
    return target;
  }

  /** The same target with one more replica. */
  async addReplica(
    target: GatewayTarget,
    port: number,
    options: Partial<Pick<GatewayOptions, 'env' | 'owners'>> = {},
  ): Promise<GatewayTarget> {
    const own = { home: this.home, owners: this.owners, profileDir: this.options.profileDir };
    const larger = await addReplica(target, port, { ...own, ...options });
    this.#running.delete(target);
    this.#running.add(larger);
    return larger;
  }

  /** Users `from` to `from + count` open a connection each. */
  async connect(
    target: Target,
    { group = target.name, from = 0, count, server = 0, followsCursors = false }: ConnectedUsers,
  ): Promise<void> {
    const { port } = serverOf(target, server);
    const users = this.tokens.users(from, count);
    await this.generator.connect({ group, protocol: target.protocol, port, users, followsCursors });
  }

  /** Publishes this workload to that target from now on, under the target's name. */
  async prepare({ name, format, redis }: Target, workload: Workload, { poolEvents = 4096, maxLen = 200_000 } = {}): Promise<void> {
    await this.publisher.prepare({ source: name, redisPort: redis.port, format, workload, poolEvents, maxLen });
  }

  /** Ends the connections first, so that nobody waits for a drain. */
  async stopTargets(targets: readonly Target[]): Promise<void> {
    for (const { name } of targets) {
      await this.generator.close(name);
      await this.publisher.forget(name);
    }
    for (const target of targets) this.#running.delete(target);
    await Promise.all(targets.map(stopTarget));
  }

  /** Whatever a scenario that failed has left. */
  async clear(): Promise<void> {
    await this.stopTargets([...this.#running]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.generator.stop(), this.publisher.stop(), this.owners.stop()]);
    await this.home.close();
  }

  /** Undefined for a system that is not on this machine. */
  async startTarget(name: TargetName): Promise<Target | undefined> {
    const target = await this.#start(name);
    if (target !== undefined) this.#running.add(target);
    return target;
  }

  async #start(name: TargetName): Promise<Target | undefined> {
    switch (name) {
      case 'gateway':
        return this.startGateway();
      case 'socket.io':
        return startSocketIo(this.home, 'ws');
      case 'socket.io-uws':
        return startSocketIo(this.home, 'uws');
      case 'plain-ws':
        return startPlainWs(this.home);
      case 'centrifugo':
        return centrifugoVersion() === undefined ? undefined : startCentrifugo(this.home, this.owners.issuer);
    }
  }
}

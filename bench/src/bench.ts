import { FakeOwners, FleetHome } from '@event-gateway/fleet';
import type { BenchOptions } from './bench-options.js';
import { LoadGenerator } from './load/load-generator.js';
import { Tokens } from './measure/tokens.js';
import { Publisher } from './publish/publisher.js';
import { type GatewayOptions, type GatewayTarget, startGateway } from './targets/gateway.js';
import { startPlainWs, startSocketIo } from './targets/peers.js';
import type { Target, TargetName } from './targets/target.js';

/** What every scenario stands on: the load generator, the publisher, the owners, and a way to start what is measured. */
export class Bench {
  readonly options: BenchOptions;
  readonly home: FleetHome;
  readonly owners: FakeOwners;
  readonly tokens: Tokens;
  readonly generator: LoadGenerator;
  readonly publisher: Publisher;

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
  async startTargets(): Promise<Target[]> {
    const targets: Target[] = [];
    for (const name of this.options.targets) targets.push(await this.#start(name));
    return targets;
  }

  async startGateway(options: Pick<GatewayOptions, 'replicas' | 'env'> = {}): Promise<GatewayTarget> {
    return startGateway({ home: this.home, owners: this.owners, profileDir: this.options.profileDir, ...options });
  }

  async stop(): Promise<void> {
    await Promise.all([this.generator.stop(), this.publisher.stop(), this.owners.stop()]);
    await this.home.close();
  }

  #start(name: TargetName): Promise<Target> {
    switch (name) {
      case 'gateway':
        return this.startGateway();
      case 'socket.io':
        return startSocketIo(this.home, 'ws');
      case 'socket.io-uws':
        return startSocketIo(this.home, 'uws');
      case 'plain-ws':
        return startPlainWs(this.home);
    }
  }
}

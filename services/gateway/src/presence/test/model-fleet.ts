import { TcpProxy } from '@event-gateway/fleet';
import type { UserId } from '@event-gateway/protocol';
import type { TestConnection } from './test-hub.js';
import { TestReplica, type TestReplicaOptions } from './test-replica.js';

/** A replica's place in the fleet: its id, its way to Redis, and the process that lives there now. */
export interface Place {
  readonly id: string;
  readonly proxy: TcpProxy;
  replica: TestReplica;
}

/** Three replicas that reach Redis by a proxy each. */
export class ModelFleet {
  readonly places: Place[] = [];
  readonly #options: Omit<TestReplicaOptions, 'id' | 'url'>;
  readonly #pongMs: number;

  constructor(options: Omit<TestReplicaOptions, 'id' | 'url'>, pongMs: number) {
    this.#options = options;
    this.#pongMs = pongMs;
  }

  async start(redisPort: number): Promise<void> {
    for (const id of ['r0', 'r1', 'r2']) {
      const proxy = await TcpProxy.start(redisPort);
      this.places.push({ id, proxy, replica: await this.#startReplica(id, proxy) });
    }
  }

  async stop(): Promise<void> {
    for (const { replica, proxy } of this.places) {
      replica.kill();
      await proxy.stop();
    }
  }

  /** kill -9, and another process in the same place. */
  async replace(place: Place): Promise<void> {
    place.replica.kill();
    place.replica = await this.#startReplica(place.id, place.proxy);
  }

  async #startReplica(id: string, proxy: TcpProxy): Promise<TestReplica> {
    const replica = new TestReplica({ ...this.#options, id, url: `redis://127.0.0.1:${proxy.port}` });
    await replica.start();
    replica.keepAlive(this.#pongMs);
    return replica;
  }
}

/** What one holder's lease means for a user: kept alive (no end), or running out. */
export interface Claim {
  readonly place: Place;
  readonly holder: string;
  readonly connections: TestConnection[];
  /** Unix ms of Redis; undefined while somebody is connected. */
  endsMs: number | undefined;
}

/** What must be true of one user, by nothing but what was done to him. */
export class ModelUser {
  readonly id: UserId;
  claims: Claim[] = [];
  /** Transitions that must have been published so far. */
  readonly expected: string[] = [];

  constructor(id: UserId) {
    this.id = id;
  }

  get isLive(): boolean {
    return this.claims.some(({ connections }) => connections.length > 0);
  }

  get isOnline(): boolean {
    return this.expected.at(-1) === 'online';
  }

  /** When the last lease that still runs out does so; undefined while somebody keeps one alive, or when there is none. */
  get endsMs(): number | undefined {
    if (this.isLive || this.claims.length === 0) return undefined;
    return Math.max(...this.claims.map(({ endsMs = 0 }) => endsMs));
  }
}

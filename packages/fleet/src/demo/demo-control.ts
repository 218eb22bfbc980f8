import type { Environment } from '../services/node-service.js';
import type { Replica } from '../services/replica.js';

export const replicaActions = ['kill', 'restart', 'stop', 'continue'] as const;
export const fleetActions = ['incident', 'heal'] as const;
export type ReplicaAction = (typeof replicaActions)[number];
export type FleetAction = (typeof fleetActions)[number];

export interface ControlStatus {
  /** True: the replicas share one consumer group, as no fleet should. */
  readonly incident: boolean;
  readonly replicas: readonly { readonly id: string; readonly alive: boolean; readonly state: ReplicaState }[];
  readonly actions: readonly string[];
}

/** `stopped` is SIGSTOP: its sockets are open and nobody is at home. */
export type ReplicaState = 'running' | 'starting' | 'stopped' | 'dead';

const sharedGroup: Environment = { UNSAFE_SHARED_GROUP: '1' };

/** What a person may do to the demo's replicas. Actions are carried out one after the other. */
export class DemoControl {
  readonly #replicas: readonly Replica[];
  readonly #stopped = new Set<Replica>();
  readonly #starting = new Set<Replica>();
  #hasIncident = false;
  #last: Promise<void> = Promise.resolve();

  constructor(replicas: readonly Replica[]) {
    this.#replicas = replicas;
  }

  status(): ControlStatus {
    return {
      incident: this.#hasIncident,
      replicas: this.#replicas.map((replica) => ({ id: replica.id, alive: replica.isRunning, state: this.#stateOf(replica) })),
      actions: [...replicaActions, ...fleetActions],
    };
  }

  find(id: string): Replica | undefined {
    return this.#replicas.find((replica) => replica.id === id);
  }

  /** Resolves when it is done, a restart when the replica is ready. */
  actOn(replica: Replica, action: ReplicaAction): Promise<void> {
    return this.#next(async () => {
      switch (action) {
        case 'kill':
          await replica.kill();
          this.#stopped.delete(replica);
          return;
        case 'restart':
          return this.#restart(replica);
        case 'stop':
          replica.pause();
          this.#stopped.add(replica);
          return;
        case 'continue':
          replica.resume();
          this.#stopped.delete(replica);
      }
    });
  }

  /** `incident` restarts everybody on one shared consumer group, `heal` on their own ones. */
  actOnFleet(action: FleetAction): Promise<void> {
    return this.#next(async () => {
      this.#hasIncident = action === 'incident';
      await Promise.all(this.#replicas.map((replica) => this.#restart(replica)));
    });
  }

  async #restart(replica: Replica): Promise<void> {
    this.#stopped.delete(replica);
    this.#starting.add(replica);
    try {
      await replica.restart(this.#hasIncident ? sharedGroup : {});
    } finally {
      this.#starting.delete(replica);
    }
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined); // told to whoever asked for it
    return done;
  }

  #stateOf(replica: Replica): ReplicaState {
    if (this.#starting.has(replica)) return 'starting';
    if (!replica.isRunning) return 'dead';
    return this.#stopped.has(replica) ? 'stopped' : 'running';
  }
}

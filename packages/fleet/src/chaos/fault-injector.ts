import { setTimeout as sleep } from 'node:timers/promises';
import { keys } from '@event-gateway/redis';
import { eventually } from '../eventually.js';
import type { Reply } from '../redis/resp-client.js';
import type { Replica } from '../services/replica.js';
import type { Bus } from './bus.js';
import type { PlannedFault } from './schedule.js';

const stream = 'messenger.events';
const startMs = 20_000;
const nothingToBreak = /no such key|requires the key to exist|No such client|Invalid client ID|connection to Redis|LOADING|READONLY/;

/** Does to a fleet what a schedule says, and knows afterwards which ends of processes and connections it is to blame for. */
export class FaultInjector {
  readonly #replicas: readonly Replica[];
  readonly #bus: Bus;
  readonly #complain: (complaint: string) => void;
  readonly #killed = new Set<Replica>();
  /** Of the last moment in which a replica was dead or stopped. */
  readonly #awayAtMs = new Map<Replica, number>();

  constructor(replicas: readonly Replica[], bus: Bus, complain: (complaint: string) => void) {
    this.#replicas = replicas;
    this.#bus = bus;
    this.#complain = complain;
  }

  /** Starts every replica and waits until they are ready. */
  async startReplicas(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => this.#launch(replica).untilReady()));
  }

  /** Resolves when it is over: whatever was away is running again, though it may not be ready yet. */
  async inject({ kind, lastsMs, replica: index }: PlannedFault): Promise<void> {
    switch (kind) {
      case 'kill_replica':
        return this.#kill(this.#replica(index), lastsMs);
      case 'drain_replica':
        return this.#drain(this.#replica(index), lastsMs);
      case 'pause_replica':
        return this.#pause(this.#replica(index), lastsMs);
      case 'pause_redis':
        return this.#bus.pause(lastsMs);
      case 'restart_redis':
        return this.#bus.restart(lastsMs, { keepData: true });
      case 'wipe_redis':
        return this.#bus.restart(lastsMs, { keepData: false });
      case 'roll_back_redis':
        return this.#bus.rollBack(lastsMs);
      case 'flush':
        return this.#tell('FLUSHALL');
      case 'destroy_group':
        return this.#tell('XGROUP', 'DESTROY', stream, keys.group(this.#replica(index).id));
      case 'trim':
        return this.#tell('XTRIM', stream, 'MAXLEN', 1);
      case 'cut_reader':
        return this.#cutReader(this.#replica(index));
      case 'fail_over':
        return this.#bus.failOver('dead', lastsMs);
      case 'fail_over_behind':
        return this.#bus.failOver('behind', lastsMs);
      case 'fail_over_hung':
        return this.#bus.failOver('hung', lastsMs);
    }
  }

  /** Whether a connection to that replica may have ended without a close frame lately. */
  wasAway(url: string, withinMs: number): boolean {
    const replica = this.#replicas.find(({ port }) => String(port) === new URL(url).port);
    return replica === undefined || performance.now() - (this.#awayAtMs.get(replica) ?? -Infinity) < withinMs;
  }

  /** From here on every end is this run's own. */
  stop(): void {
    for (const replica of this.#replicas) this.#killed.add(replica);
  }

  async #kill(replica: Replica, lastsMs: number): Promise<void> {
    this.#killed.add(replica);
    this.#awayAtMs.set(replica, performance.now());
    await replica.kill();
    await sleep(lastsMs);
    this.#launch(replica);
  }

  async #drain(replica: Replica, lastsMs: number): Promise<void> {
    // Before that it does not listen to signals yet.
    await eventually(async () => (await replica.get('/healthz')).status === 200, { timeoutMs: startMs, what: `${replica.id} being alive` });
    this.#killed.add(replica);
    this.#awayAtMs.set(replica, performance.now());
    const { code, signal } = await replica.drain();
    if (code !== 0) this.#complain(`${replica.id} did not end as a drained one: ${signal ?? `code ${code}`}`);
    this.#awayAtMs.set(replica, performance.now());
    await sleep(lastsMs);
    this.#launch(replica);
  }

  async #pause(replica: Replica, lastsMs: number): Promise<void> {
    this.#awayAtMs.set(replica, performance.now());
    replica.pause();
    await sleep(lastsMs);
    replica.resume();
    this.#awayAtMs.set(replica, performance.now());
  }

  #launch(replica: Replica): Replica {
    this.#killed.delete(replica);
    replica.launch();
    void replica.exited.then(({ code, signal }) => {
      if (!this.#killed.has(replica)) this.#complain(`${replica.id} ended by itself: ${signal ?? `code ${code}`}`);
    });
    return replica;
  }

  async #cutReader(replica: Replica): Promise<void> {
    const clientId = await this.#ask('GET', keys.reader(replica.id));
    if (clientId !== null) await this.#tell('CLIENT', 'KILL', 'ID', String(clientId));
  }

  async #tell(...command: readonly (string | number)[]): Promise<void> {
    await this.#ask(...command);
  }

  /** Null when what it is about is not there, or Redis itself is away: then there is nothing to break. */
  async #ask(...command: readonly (string | number)[]): Promise<Reply> {
    try {
      return await this.#bus.call(...command);
    } catch (error) {
      if (nothingToBreak.test(String(error))) return null;
      throw error;
    }
  }

  #replica(index: number | undefined): Replica {
    const replica = index === undefined ? undefined : this.#replicas[index];
    if (replica === undefined) throw new Error(`no replica ${index}`);
    return replica;
  }
}

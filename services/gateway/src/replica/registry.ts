import type { ReplicaRow } from '@event-gateway/protocol';
import {
  type CommandRedis,
  decodeArray,
  decodePairs,
  keys,
  LuaScript,
  RedisReplyError,
  RedisUnavailableError,
  type ScriptRunner,
  UnexpectedReplyError,
} from '@event-gateway/redis';
import { type Clock, type Logger, runLoop } from '@event-gateway/runtime';
import { TakeoverWatch } from './takeover-watch.js';

const renewLease = LuaScript.load(new URL('./scripts/renew-lease.lua', import.meta.url));
const registerReader = LuaScript.load(new URL('./scripts/register-reader.lua', import.meta.url));
const releaseLease = LuaScript.load(new URL('./scripts/release-lease.lua', import.meta.url));

/** A reader's client id outlives the lease, so that a successor knows of a predecessor that is only paused, or cut off from Redis. */
const readerTtlMs = 3_600_000;
/** The fleet's figures are at most 2 s old. */
const maxFiguresAgeMs = 1000;

/** A process that waits for Redis itself loses no time when it is there. */
const retryMs = 50;

/** What a replica says about itself. */
export interface ReplicaFigures {
  readonly connections: number;
  readonly users: number;
  /** Undefined while unknown. */
  readonly lagEntries: number | undefined;
  readonly lagSeconds: number | undefined;
  readonly pending: number | undefined;
  readonly draining: boolean;
}

export interface ReplicaRegistryOptions {
  readonly replicaId: string;
  /** Random, of this process: it tells two processes with one id apart. */
  readonly incarnation: string;
  readonly leaseTtlMs: number;
  /** False where two processes with one id do no harm (shared group, pub/sub): the lease is then only a line in the list. */
  readonly isFenced: boolean;
  readonly stream: string;
  /** GROUP_ON_STOP=destroy: for ids that never come back. */
  readonly destroysGroupOnStop: boolean;
}

/**
 * This replica's lease and figures, and the fence that rests on it.
 *
 *   waiting → held       nobody else holds the id, and nobody who might still be alive does
 *   held    → fenced     another process has taken the id: final; nothing of it in Redis is ours any more
 *   any     → left       stopped
 *
 * While held, the lease is good only as long as this process's own clock says so: after a pause, or an outage of Redis, it must be
 * confirmed again before anything is read.
 */
export class ReplicaRegistry {
  readonly name = 'registry';
  readonly #redis: CommandRedis;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #figures: () => ReplicaFigures;
  readonly #onFencedOut: () => void;
  readonly #options: ReplicaRegistryOptions;
  readonly #watch: TakeoverWatch;
  readonly #renewEveryMs: number;
  readonly #stopping = new AbortController();
  readonly #startedAt: string;
  readonly #held: Promise<void>;
  #resolveHeld: () => void = () => undefined;
  #state: 'waiting' | 'held' | 'fenced' | 'left' = 'waiting';
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** Client id of the reader that was admitted last. */
  #readerId: number | undefined;
  #loop: Promise<void> | undefined;

  constructor(
    redis: CommandRedis,
    clock: Clock,
    logger: Logger,
    figures: () => ReplicaFigures,
    onFencedOut: () => void,
    options: ReplicaRegistryOptions,
  ) {
    this.#redis = redis;
    this.#clock = clock;
    this.#logger = logger;
    this.#figures = figures;
    this.#onFencedOut = onFencedOut;
    this.#options = options;
    // The longest time between two renewals, every 3 s of a lease of 10 s: two in a row may fail. The figures, which go along with them,
    // have the lease renewed more often than that where it is long.
    this.#renewEveryMs = options.leaseTtlMs * 0.3;
    this.#watch = new TakeoverWatch(this.#renewEveryMs);
    this.#startedAt = new Date(clock.wallMs()).toISOString();
    this.#held = new Promise((resolve) => {
      this.#resolveHeld = resolve;
    });
  }

  /** The lease is ours as far as this process can know by itself. */
  get isHeld(): boolean {
    return this.heldForMs() > 0;
  }

  /** Final. */
  get isFencedOut(): boolean {
    return this.#state === 'fenced';
  }

  /** How long the lease is certainly still ours, in ms; 0 when it may not be. */
  heldForMs(): number {
    return this.#state === 'held' ? Math.max(0, this.#heldUntilMs - this.#clock.nowMs()) : 0;
  }

  /** Resolves when this process holds the id for the first time; never when it is fenced out or stopped before. */
  whenHeld(): Promise<void> {
    return this.#held;
  }

  start(): void {
    this.#loop ??= runLoop(
      {
        name: 'replica lease',
        signal: this.#stopping.signal,
        clock: this.#clock,
        logger: this.#logger,
        everyMs: () => this.#waitMs(),
      },
      () => this.#look(),
    );
  }

  /** Leaves the fleet, unless the id belongs to someone else by now. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    if (this.#state !== 'held') return;
    this.#state = 'left';
    const { replicaId, incarnation, stream, destroysGroupOnStop } = this.#options;
    const touched = [keys.replica(replicaId), keys.replicas, keys.reader(replicaId), keys.canary(replicaId), stream];
    const group = destroysGroupOnStop ? keys.group(replicaId) : '';
    await this.#quietly(() => this.#redis.runScript(releaseLease, touched, [replicaId, incarnation, group]));
  }

  /**
   * Confirms the lease on the very server that a reader is connected to, and writes down that reader.
   * @returns false when the lease is not ours. @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
   */
  async admitReader(server: ScriptRunner, clientId: number): Promise<boolean> {
    if (!(await this.#renew(server))) return false;
    const { replicaId, incarnation } = this.#options;
    const touched = [keys.replica(replicaId), keys.reader(replicaId)];
    const reply = String(await server.runScript(registerReader, touched, [incarnation, clientId, readerTtlMs]));
    if (reply === 'taken') this.#fenceOut();
    if (reply !== 'held' && reply !== 'absent' && reply !== 'taken') throw new UnexpectedReplyError(registerReader.name);
    if (reply === 'held') this.#readerId = clientId;
    return reply === 'held';
  }

  /** The fleet as the registry has it; a dead replica leaves with its lease. @throws RedisUnavailableError */
  async list(): Promise<readonly ReplicaRow[]> {
    const ids = await this.#redis.call('ZRANGE', keys.replicas, 0, -1);
    if (!Array.isArray(ids)) return [];
    const rows = await this.#redis.pipeline(ids.map((id) => ['HGETALL', keys.replica(String(id))]));
    return rows.flatMap((row) => toRow(decodePairs(row)));
  }

  #waitMs(): number {
    if (this.#state === 'held') return Math.min(maxFiguresAgeMs, this.#renewEveryMs);
    return this.#redis.isUp ? Math.min(maxFiguresAgeMs, this.#renewEveryMs / 4) : retryMs;
  }

  async #look(): Promise<void> {
    if (this.#state === 'held') await this.#quietly(() => this.#renew(this.#redis));
    if (this.#state !== 'waiting') return;
    try {
      await this.#waitForLease();
    } catch (error) {
      this.#watch.lost();
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }

  async #waitForLease(): Promise<void> {
    if (this.#options.isFenced) {
      const { replicaId } = this.#options;
      const [lease, reader] = await this.#redis.pipeline([
        ['HMGET', keys.replica(replicaId), 'incarnation', 'renewals'],
        ['EXISTS', keys.reader(replicaId)],
      ]);
      if (lease instanceof RedisReplyError) throw lease;
      const [holder, renewals] = decodeArray(lease);
      const sighting = {
        holder: typeof holder === 'string' ? holder : undefined,
        renewals: Number(renewals ?? 0),
        hasPredecessor: reader !== 0,
        hasRedisBeenAway: this.#redis.hasBeenAway,
      };
      if (this.#watch.sighted(sighting, this.#clock.nowMs()) === 'wait') return;
    }
    // Someone may have been faster: then there is someone to wait for again.
    await this.#renew(this.#redis);
  }

  /** @returns whether the lease is ours. @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError */
  async #renew(server: ScriptRunner): Promise<boolean> {
    const { replicaId, incarnation, leaseTtlMs, isFenced } = this.#options;
    const sentAtMs = this.#clock.nowMs();
    const touched = [keys.replica(replicaId), keys.replicas, keys.reader(replicaId)];
    const mode = isFenced ? 'claim' : 'force';
    const args = [replicaId, incarnation, leaseTtlMs, mode, this.#readerId ?? '', readerTtlMs, ...this.#fields()];
    const reply = String(await server.runScript(renewLease, touched, args));
    if (reply === 'taken') {
      this.#fenceOut();
      return false;
    }
    if (reply !== 'held') throw new UnexpectedReplyError(renewLease.name);
    // A tenth for clocks that run differently, and for the time between looking at ours and acting on it.
    this.#heldUntilMs = Math.max(this.#heldUntilMs, sentAtMs + leaseTtlMs * 0.9);
    if (this.#state === 'waiting') {
      this.#state = 'held';
      this.#logger.info({ incarnation }, 'this replica id is ours');
      this.#resolveHeld();
    }
    return this.#state === 'held';
  }

  #fenceOut(): void {
    if (this.#state !== 'held') return;
    this.#state = 'fenced';
    this.#stopping.abort();
    this.#logger.error({}, 'another process has taken this replica id');
    this.#onFencedOut();
  }

  #fields(): (string | number)[] {
    const { connections, users, lagEntries, lagSeconds, pending, draining } = this.#figures();
    return [
      ...['started_at', this.#startedAt, 'connections', connections, 'users', users],
      ...['lag_entries', lagEntries ?? '', 'lag_seconds', lagSeconds ?? '', 'pending', pending ?? '', 'draining', draining ? 1 : 0],
    ];
  }

  /** An unreachable Redis is told by the connection, and looked after by the next round. */
  async #quietly(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }
}

function toRow(fields: ReadonlyMap<string, unknown>): ReplicaRow[] {
  const text = (name: string): string => {
    const value = fields.get(name);
    return typeof value === 'string' ? value : '';
  };
  const figure = (name: string): number | null => (text(name) === '' ? null : Number(text(name)));
  if (!fields.has('incarnation')) return [];
  return [
    {
      replica_id: text('replica_id'),
      incarnation: text('incarnation'),
      started_at: text('started_at'),
      connections: Number(text('connections')),
      users: Number(text('users')),
      lag_entries: figure('lag_entries'),
      lag_seconds: figure('lag_seconds'),
      pending: figure('pending'),
      draining: text('draining') === '1',
    },
  ];
}

import type { UserId } from '@event-gateway/protocol';
import { type Clock, every, type Logger, type Timer } from '@event-gateway/runtime';
import type { Audience } from './audience.js';
import type { PeerChange } from './lesson.js';
import { PacedJob } from './paced-job.js';
import { type PeerWrite, peersRefreshMs } from './peer-store.js';

/** Where peers are kept; never rejects. */
export interface PeerShelf {
  read(users: readonly UserId[], maxPeers: number): Promise<(UserId[] | undefined)[]>;
  write(writes: readonly PeerWrite[]): Promise<boolean[]>;
}

export interface PeerKeeperDeps {
  readonly shelf: PeerShelf;
  readonly audience: Audience;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

export interface PeerKeeperOptions {
  readonly maxPeers: number;
}

interface Arrival {
  readonly loaded: Promise<void>;
  readonly settle: () => void;
  hasFailed: boolean;
}

/** One round trip takes as many users as ten scripts of a hundred. */
const tripUsers = 1000;
/** A surge of a thousand arrivals a second is some seven round trips a second; alone, nobody waits. */
const gapMs = { min: 100, spread: 100 };
/** After a failure: about as long as a command takes to fail. */
const retryMs = { min: 1000, spread: 1000 };
/** Looked at this often, so that the refreshes of an hour are spread over it as the users' arrivals were. */
const refreshTickMs = 60 * 1000;
/** Sets that wait for Redis. What is dropped beyond is learned again with the next sync or card. */
const maxPendingWrites = 20_000;

/** Keeps the audience and `presence.peers:<user>` in step: reads once when a user comes, writes what is learned, keeps the sets alive. */
export class PeerKeeper {
  readonly #deps: PeerKeeperDeps;
  readonly #options: PeerKeeperOptions;
  /** Users whose peers are yet to be read. Settled after the first attempt, be it for others: nobody waits for Redis to come back. */
  readonly #arrivals = new Map<UserId, Arrival>();
  /** User → peer → is to be added (else removed). */
  readonly #writes = new Map<UserId, Map<UserId, boolean>>();
  /** Monotonic ms of the last write, by user who is here. */
  readonly #writtenMs = new Map<UserId, number>();
  readonly #onLateRecall: ((userId: UserId) => void)[] = [];
  readonly #trips: PacedJob;
  #refreshTimer: Timer | undefined;

  constructor(deps: PeerKeeperDeps, options: PeerKeeperOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#trips = new PacedJob({ name: 'presence peers', clock: deps.clock, logger: deps.logger }, () => this.#goOnce());
  }

  /** Called with a user whose peers could not be read when he came, and now were. */
  onLateRecall(listener: (userId: UserId) => void): void {
    this.#onLateRecall.push(listener);
  }

  start(): void {
    this.#refreshTimer ??= every(this.#deps.clock, refreshTickMs, () => this.#refresh());
  }

  stop(): void {
    this.#refreshTimer?.cancel();
    void this.#trips.stop();
    for (const { settle } of this.#arrivals.values()) settle();
  }

  join(userId: UserId): void {
    this.#writtenMs.set(userId, this.#deps.clock.nowMs());
    if (this.#arrivals.has(userId)) return;
    let settle = (): void => undefined;
    const loaded = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#arrivals.set(userId, { loaded, settle, hasFailed: false });
    this.#trips.request();
  }

  leave(userId: UserId): void {
    this.#writtenMs.delete(userId);
    this.#arrivals.get(userId)?.settle();
    this.#arrivals.delete(userId);
  }

  /** Resolves when the user's peers have been read, or could not be. */
  loaded(userId: UserId): Promise<void> {
    return this.#arrivals.get(userId)?.loaded ?? Promise.resolve();
  }

  learned(changes: readonly PeerChange[]): void {
    for (const change of changes) this.#note(change, true);
  }

  forgotten(changes: readonly PeerChange[]): void {
    for (const change of changes) this.#note(change, false);
  }

  /** Writes what is known of everybody who is here, and reads what could not be read: Redis was away, or forgot it. */
  rewriteAll(): void {
    const { audience } = this.#deps;
    for (const userId of this.#writtenMs.keys()) for (const peer of audience.peersOf(userId)) this.#note({ viewer: userId, peer }, true);
  }

  #note({ viewer, peer }: PeerChange, isPeer: boolean): void {
    const changes = this.#writes.get(viewer) ?? new Map<UserId, boolean>();
    if (changes.size === 0 && this.#writes.size >= maxPendingWrites) return;
    changes.set(peer, isPeer);
    this.#writes.set(viewer, changes);
    this.#trips.request();
  }

  #refresh(): void {
    const dueMs = this.#deps.clock.nowMs() - peersRefreshMs;
    for (const [userId, writtenMs] of this.#writtenMs) {
      if (writtenMs > dueMs || this.#deps.audience.peerCount(userId) === 0) continue;
      if (!this.#writes.has(userId)) this.#writes.set(userId, new Map());
      this.#trips.request();
    }
  }

  async #goOnce(): Promise<number> {
    const isRead = await this.#readArrivals();
    const isWritten = await this.#writeChanges();
    if (this.#arrivals.size > 0 || this.#writes.size > 0) this.#trips.request();
    const { min, spread } = isRead && isWritten ? gapMs : retryMs;
    return min + this.#deps.random() * spread;
  }

  async #readArrivals(): Promise<boolean> {
    const arrivals = [...this.#arrivals].slice(0, tripUsers);
    if (arrivals.length === 0) return true;
    const users = arrivals.map(([userId]) => userId);
    const answers = await this.#deps.shelf.read(users, this.#options.maxPeers);
    let isRead = true;
    for (const [i, [userId, arrival]] of arrivals.entries()) {
      const peers = answers[i];
      if (peers === undefined) isRead = false;
      if (this.#arrivals.get(userId) !== arrival) continue;
      this.#arrivals.delete(userId);
      if (peers === undefined) {
        // At the end: those behind have their turn, whatever it is that keeps this one from being read.
        this.#arrivals.set(userId, arrival);
        continue;
      }
      this.#deps.audience.recall(userId, peers);
      if (arrival.hasFailed && peers.length > 0) for (const listener of this.#onLateRecall) listener(userId);
      arrival.settle();
    }
    if (!isRead) this.#letGo();
    return isRead;
  }

  /** Redis fails: whoever waits for his peers has them later, those included who were not among the ones asked for. */
  #letGo(): void {
    for (const arrival of this.#arrivals.values()) {
      arrival.hasFailed = true;
      arrival.settle();
    }
  }

  async #writeChanges(): Promise<boolean> {
    const pending = [...this.#writes].slice(0, tripUsers);
    if (pending.length === 0) return true;
    for (const [userId] of pending) this.#writes.delete(userId);
    const written = await this.#deps.shelf.write(pending.map(([userId, changes]) => writeOf(userId, changes)));
    const nowMs = this.#deps.clock.nowMs();
    for (const [i, [userId, changes]] of pending.entries()) {
      if (written[i] !== true) this.#writes.set(userId, new Map([...changes, ...(this.#writes.get(userId) ?? [])]));
      else if (this.#writtenMs.has(userId)) this.#writtenMs.set(userId, nowMs);
    }
    return written.every((isWritten) => isWritten);
  }
}

function writeOf(userId: UserId, changes: ReadonlyMap<UserId, boolean>): PeerWrite {
  const add: UserId[] = [];
  const remove: UserId[] = [];
  for (const [peer, isPeer] of changes) (isPeer ? add : remove).push(peer);
  return { userId, add, remove };
}

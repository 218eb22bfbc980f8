import type { PresenceEntry, PresenceMessage, UserId } from '@event-gateway/protocol';
import { type Clock, type Logger, within } from '@event-gateway/runtime';
import type { Audience } from './audience.js';
import { PacedJob } from './paced-job.js';
import { unknownEntry } from './presence-entry.js';
import type { PresenceConnection, PresenceHub, PresenceReader } from './presence-ports.js';
import type { RedisHealth } from './redis-health.js';

export interface SnapshotDeps {
  readonly hub: PresenceHub;
  readonly audience: Audience;
  readonly reader: PresenceReader;
  /** Resolves when the user's peers have been read, or could not be. */
  readonly peers: { loaded(userId: UserId): Promise<void> };
  readonly health: RedisHealth;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

/** A transition that arrived while the snapshot of a connection was under way. */
interface HeldEvent {
  readonly message: PresenceMessage;
  readonly frame: string;
}

interface Hold {
  snapshots: number;
  /** By user, newest: what a client would forget at once need not be kept. */
  readonly events: Map<UserId, HeldEvent>;
}

/** Snapshots for everybody are spread over this: ten thousand reads at one moment would be a storm of our own making. */
export const snapshotSpreadMs = 2000;
/** Contract 2.5: an answer within a second, so Redis has a little less. */
const readDeadlineMs = 900;
/** Due snapshots are gathered this often: one read for all of them. */
const tickMs = 100;
/** Of one tick: ten thousand users are served within the spread. */
const tickUsers = 500;
/** Peers of one tick's read: five scripts of a thousand users. */
const tickPeers = 5000;
const retryMs = 1000;

/**
 * Tells users the state of all their peers at one moment. A transition that arrives while a connection's snapshot is under way is held
 * and follows it: it may be newer than the snapshot, and the snapshot would seem to undo it.
 */
export class Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #holds = new Map<PresenceConnection, Hold>();
  /** When (monotonic ms) a user's connections are to get one. */
  readonly #due = new Map<UserId, number>();
  readonly #ticks: PacedJob;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
    this.#ticks = new PacedJob({ name: 'presence snapshots', clock: deps.clock, logger: deps.logger }, () => this.#tick());
  }

  stop(): void {
    void this.#ticks.stop();
    this.#due.clear();
  }

  /** Hands the snapshot of a connection's user to `write`; transitions that arrive meanwhile follow behind it. */
  async into(connection: PresenceConnection, write: (presence: readonly PresenceEntry[]) => void): Promise<void> {
    this.#hold(connection);
    let entries: readonly PresenceEntry[] = [];
    try {
      entries = await this.#entriesFor(connection.userId);
      if (connection.isOpen) write(entries);
    } finally {
      this.#release(connection, entries);
    }
  }

  /** Keeps an event back if a snapshot of the connection is under way. */
  keep(connection: PresenceConnection, message: PresenceMessage, frame: string): boolean {
    const hold = this.#holds.get(connection);
    if (hold === undefined) return false;
    hold.events.delete(message.userId);
    hold.events.set(message.userId, { message, frame });
    return true;
  }

  /** A snapshot for all connections of a user, not before `delayMs` and a little later at random. */
  schedule(userId: UserId, delayMs = 0): void {
    const { clock, random } = this.#deps;
    const earliestMs = clock.nowMs() + delayMs;
    const dueMs = this.#due.get(userId);
    if (dueMs === undefined || dueMs < earliestMs) this.#due.set(userId, earliestMs + random() * snapshotSpreadMs);
    this.#ticks.request();
  }

  /** States of users at one moment; undefined when Redis does not answer in time. */
  async readInTime(users: readonly UserId[]): Promise<PresenceEntry[] | undefined> {
    const { reader, health, clock } = this.#deps;
    if (users.length === 0) return [];
    if (health.isAway) return undefined;
    return within(clock, readDeadlineMs, reader.read(users));
  }

  /** The user's peers and their states; all `unknown` while Redis does not answer. */
  async #entriesFor(userId: UserId): Promise<PresenceEntry[]> {
    await this.#deps.peers.loaded(userId);
    const users = [...this.#deps.audience.peersOf(userId)];
    const entries = await this.readInTime(users);
    if (entries !== undefined) return entries;
    // What is told now is not the truth: that follows.
    this.schedule(userId, retryMs);
    return this.#unknown(users);
  }

  #unknown(users: readonly UserId[]): PresenceEntry[] {
    // Redis's time as far as it is known: a client keeps the newest, and an unknown from a clock of ours could outlive what follows.
    const atMs = this.#deps.reader.redisNowMs() ?? 0;
    return users.map((userId) => unknownEntry(userId, atMs));
  }

  async #tick(): Promise<number> {
    const users = this.#takeDue();
    if (this.#deps.health.isLongAway) {
      for (const userId of users) this.#write(userId, this.#unknown([...this.#deps.audience.peersOf(userId)]));
    } else if (users.length > 0) {
      await this.#serve(users);
    }
    if (this.#due.size > 0) this.#ticks.request();
    return tickMs;
  }

  /** One read for the peers of all of them. */
  async #serve(users: readonly UserId[]): Promise<void> {
    const { hub, audience } = this.#deps;
    const connections = users.flatMap((userId) => hub.connectionsOf(userId));
    for (const connection of connections) this.#hold(connection);
    const peers = new Set<UserId>();
    for (const userId of users) for (const peer of audience.peersOf(userId)) peers.add(peer);
    const entries = await this.readInTime([...peers]);
    if (entries === undefined) for (const userId of users) this.schedule(userId, retryMs);
    else this.#writeEach(users, entries);
    for (const connection of connections) this.#release(connection, entries ?? []);
  }

  #takeDue(): UserId[] {
    const nowMs = this.#deps.clock.nowMs();
    const users: UserId[] = [];
    let peers = 0;
    for (const [userId, dueMs] of this.#due) {
      if (dueMs > nowMs) continue;
      const count = this.#deps.audience.peerCount(userId);
      if (users.length > 0 && (users.length === tickUsers || peers + count > tickPeers)) break;
      this.#due.delete(userId);
      if (this.#deps.hub.connectionsOf(userId).length === 0) continue;
      users.push(userId);
      peers += count;
    }
    return users;
  }

  #writeEach(users: readonly UserId[], entries: readonly PresenceEntry[]): void {
    const byUser = new Map(entries.map((entry) => [entry.user_id, entry]));
    for (const userId of users) {
      const presence: PresenceEntry[] = [];
      // Whoever became a peer during the read is not among the answers, and has a snapshot of his own coming.
      for (const peer of this.#deps.audience.peersOf(userId)) {
        const entry = byUser.get(peer);
        if (entry !== undefined) presence.push(entry);
      }
      this.#write(userId, presence);
    }
  }

  #write(userId: UserId, presence: readonly PresenceEntry[]): void {
    for (const connection of this.#deps.hub.connectionsOf(userId)) connection.writeControl({ type: 'presence.snapshot', presence });
  }

  #hold(connection: PresenceConnection): void {
    const hold = this.#holds.get(connection);
    if (hold === undefined) this.#holds.set(connection, { snapshots: 1, events: new Map() });
    else hold.snapshots++;
  }

  #release(connection: PresenceConnection, entries: readonly PresenceEntry[]): void {
    const hold = this.#holds.get(connection);
    if (hold === undefined || --hold.snapshots > 0) return;
    this.#holds.delete(connection);
    const known = new Map(entries.map((entry) => [entry.user_id, entry]));
    for (const [userId, { message, frame }] of hold.events) {
      const entry = known.get(userId);
      const isOlder = entry !== undefined && entry.status !== 'unknown' && message.atMs < entry.at_ms;
      if (!connection.isOpen || isOlder) continue;
      // A full socket lost it: a later snapshot says it again.
      if (connection.writeEphemeral(frame, 'presence') === false) this.schedule(connection.userId, retryMs);
    }
  }
}

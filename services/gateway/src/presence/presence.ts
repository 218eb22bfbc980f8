import type { ConversationCard, ConversationId, PresenceEntry, SyncConversation, UserId } from '@event-gateway/protocol';
import type { Clock, Logger, Metrics, Timer } from '@event-gateway/runtime';
import { Audience, type AudienceKind } from './audience.js';
import { onlyUserIds } from './decode-replies.js';
import { EventRelay } from './event-relay.js';
import { LeaseStore } from './lease-store.js';
import { LeaseWriter } from './lease-writer.js';
import type { Lesson } from './lesson.js';
import { PacedJob } from './paced-job.js';
import { PeerKeeper } from './peer-keeper.js';
import { PeerStore } from './peer-store.js';
import { unknownEntry } from './presence-entry.js';
import { PresenceMetrics } from './presence-metrics.js';
import type { PresenceConnection, PresenceHub } from './presence-ports.js';
import { type PresenceRedis, ScriptDoor } from './presence-scripts.js';
import { RedisHealth } from './redis-health.js';
import { RedisTime } from './redis-time.js';
import { Snapshots } from './snapshots.js';
import { Sweeper } from './sweeper.js';

export interface PresenceDeps {
  readonly hub: PresenceHub;
  readonly redis: PresenceRedis;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Has the cards of conversations loaded, which then come through `learnConversation`. Asked only for the audience `all`. */
  readonly loadConversations?: (ids: readonly ConversationId[]) => void;
}

export interface PresenceOptions {
  /** `<replica id>#<incarnation>`, of this process alone. */
  readonly holder: string;
  readonly leaseTtlMs: number;
  readonly renewMs: number;
  readonly graceMs: number;
  readonly sweepMs: number;
  readonly audience: AudienceKind;
  readonly commandTimeoutMs: number;
}

export interface PresenceAnswer {
  /** Redis could not be asked: every status is `unknown`. */
  readonly degraded: boolean;
  /** By user id, those asked for that are ids. */
  readonly presence: ReadonlyMap<string, PresenceEntry>;
}

/** Most peers of one user that are watched: what a client can show, and what one snapshot may cost. */
const maxPeers = 2000;
/** One to two milliseconds, at up to 1 µs a pair: whoever else runs in between waits hardly longer. */
const lessonPairs = 2000;
/** Between two lessons of big groups: at most 100,000 pairs a second, which take about a tenth of the loop, and are written to Redis as they come. */
const lessonGapMs = 20;
/** Whatever cut a connection may have cost leases as well: those are written again first. */
const afterReturnMs = 1000;
/** By then every replica has noticed a loss and has written its leases anew; a snapshot before that would say offline of the living. */
const afterLossMs = 3000;

/**
 * The room's door. Presence is leases in Redis: kept alive by the users' own activity, published by whichever script changes what is
 * known, swept when silent. Nothing here is waited for by the delivery of messages, and nothing here throws.
 *
 * Life: `start` listens to the hub and sweeps; `drain` gives the leases of this replica to the grace; `stop` writes nothing any more, so
 * a process that was fenced out only stops.
 */
export class Presence {
  readonly name = 'presence';
  readonly #deps: PresenceDeps;
  readonly #options: PresenceOptions;
  readonly #health: RedisHealth;
  readonly #audience: Audience;
  readonly #store: LeaseStore;
  readonly #writer: LeaseWriter;
  readonly #sweeper: Sweeper;
  readonly #keeper: PeerKeeper;
  readonly #snapshots: Snapshots;
  readonly #relay: EventRelay;
  readonly #lessons: PacedJob;
  #isStarted = false;
  /** Runs while leases are still being taken back after a loss. */
  #settling: Timer | undefined;

  constructor(deps: PresenceDeps, options: PresenceOptions) {
    const { hub, redis, clock, random = Math.random } = deps;
    const logger = deps.logger.child({ room: 'presence' });
    const metrics = new PresenceMetrics(deps.metrics);
    this.#deps = deps;
    this.#options = options;
    this.#health = new RedisHealth(clock, logger);
    const door = new ScriptDoor(redis, clock, this.#health);
    this.#store = new LeaseStore(door, new RedisTime(), clock, options);
    this.#audience = new Audience({ audience: options.audience, maxPeers, lessonPairs });
    this.#lessons = new PacedJob({ name: 'presence groups', clock, logger }, async () => this.#learnMore());
    this.#writer = new LeaseWriter({ sink: this.#store, metrics, clock, logger, random }, options);
    this.#sweeper = new Sweeper({ source: this.#store, metrics, clock, logger, random }, options);
    const shelf = new PeerStore(door);
    this.#keeper = new PeerKeeper({ shelf, audience: this.#audience, clock, logger, random }, { maxPeers });
    this.#snapshots = new Snapshots({
      ...{ hub, clock, logger, random },
      ...{ audience: this.#audience, reader: this.#store, peers: this.#keeper, health: this.#health },
    });
    this.#relay = new EventRelay({ hub, audience: this.#audience, snapshots: this.#snapshots, metrics, clock, logger });
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#deps.hub.onUserJoined((userId) => {
      this.#audience.join(userId);
      this.#writer.join(userId);
      this.#keeper.join(userId);
    });
    this.#deps.hub.onUserLeft((userId) => {
      this.#writer.leave(userId);
      this.#keeper.leave(userId);
      this.#audience.leave(userId);
    });
    this.#keeper.onLateRecall((userId) => this.#snapshots.schedule(userId));
    this.#health.onLongAway(() => this.#scheduleAll());
    this.#health.onReturned(() => this.#onRedisBack());
    this.#sweeper.onLost(() => this.onDataLost());
    this.#writer.onRestored(() => this.#onRestored());
    this.#writer.start();
    this.#keeper.start();
    this.#sweeper.start();
  }

  /** Ends when every lease of this replica runs out with the grace, at the deadline at the latest. Connections are closed by then. */
  async drain(deadlineMs: number): Promise<void> {
    await this.#writer.drain(deadlineMs);
  }

  /** Nothing is written to Redis any more. */
  stop(): void {
    this.#sweeper.stop();
    this.#writer.stop();
    this.#keeper.stop();
    this.#snapshots.stop();
    this.#relay.stop();
    void this.#lessons.stop();
    this.#settling?.cancel();
  }

  /** A sign of life of a user who is here: any frame, any pong. Cheap enough for each of them. */
  active(userId: UserId): void {
    this.#writer.active(userId);
  }

  /**
   * States of the peers of a connection's user, every one of them; `unknown` without Redis. Hands them to `write` (unless the connection
   * has closed), and lets transitions that arrive in between follow behind. For whoever puts the slice into a frame of his own. Never
   * rejects.
   */
  snapshotInto(connection: PresenceConnection, write: (presence: readonly PresenceEntry[]) => void): Promise<void> {
    return this.#snapshots.into(connection, write);
  }

  /** Writes a `presence.snapshot` to the connection. */
  sendSnapshot(connection: PresenceConnection): Promise<void> {
    return this.#snapshots.into(connection, (presence) => connection.writeControl({ type: 'presence.snapshot', presence }));
  }

  /** Published states of any users, for other services; within a second, never rejects. At most a thousand per round trip's script. */
  async query(users: readonly string[]): Promise<PresenceAnswer> {
    const ids = onlyUserIds(users);
    const entries = await this.#snapshots.readInTime(ids);
    const atMs = this.#store.redisNowMs() ?? 0;
    const answered = entries ?? ids.map((userId) => unknownEntry(userId, atMs));
    return { degraded: entries === undefined, presence: new Map(answered.map((entry) => [entry.user_id, entry])) };
  }

  /**
   * The messenger's answer to a sync of this user. `isWhole`: these are all dialogs of the user, so that peers who are not among them
   * any more are forgotten.
   */
  learnSynced(userId: UserId, conversations: readonly SyncConversation[], isWhole = false): void {
    this.#apply(this.#audience.learnSynced(userId, conversations, isWhole));
    if (this.#options.audience === 'all') this.#deps.loadConversations?.(conversations.map(({ conversationId }) => conversationId));
  }

  /**
   * A conversation card as its owner just sent it. Whoever became a peer by it is shown from now on, at once with the present state; of
   * a big group one member after the other.
   */
  learnConversation(card: ConversationCard): void {
    this.#applyAndShow(this.#audience.learnConversation(card));
  }

  /** A message of `gateway.presence`. */
  onMessage(text: string): void {
    this.#relay.onMessage(text);
  }

  /** SUBSCRIBE is confirmed again: transitions may have been missed. */
  onSubscriberReconnected(): void {
    this.#writer.rewriteAll();
    this.#scheduleAll(afterReturnMs);
  }

  /** Redis came back with less than it had (a new epoch): leases and peers are written anew, quietly, and everybody is told where we are. */
  onDataLost(): void {
    this.#deps.logger.warn({}, 'Redis lost presence data, leases are written anew');
    this.#writer.rewriteAll();
    this.#keeper.rewriteAll();
    this.#scheduleAll(afterLossMs);
    this.#settle();
  }

  #onRedisBack(): void {
    this.#writer.rewriteAll();
    this.#keeper.rewriteAll();
    this.#scheduleAll(afterReturnMs);
  }

  #onRestored(): void {
    if (this.#settling === undefined) this.onDataLost();
    else this.#settle();
  }

  /** The living of the whole fleet have been written again after one renewal; what was told before may have been too early. */
  #settle(): void {
    const { renewMs, graceMs } = this.#options;
    this.#settling?.cancel();
    this.#settling = this.#deps.clock.setTimeout(() => {
      this.#settling = undefined;
      this.#scheduleAll();
    }, renewMs + graceMs);
  }

  #scheduleAll(delayMs = 0): void {
    for (const userId of this.#audience.users()) this.#snapshots.schedule(userId, delayMs);
  }

  #learnMore(): number {
    this.#applyAndShow(this.#audience.learnMore());
    return lessonGapMs;
  }

  #applyAndShow(lesson: Lesson): void {
    this.#apply(lesson);
    for (const viewer of new Set(lesson.learned.map((change) => change.viewer))) this.#snapshots.schedule(viewer);
    if (this.#audience.isBehind) this.#lessons.request();
  }

  #apply({ learned, forgotten }: Lesson): void {
    this.#keeper.learned(learned);
    this.#keeper.forgotten(forgotten);
  }
}

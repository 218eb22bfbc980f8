import { Application } from '../../src/chaos/application.js';
import type { ChaosClient, ChaosClientOptions } from '../../src/chaos/chaos-client.js';
import { FrameAudit } from '../../src/chaos/frame-audit.js';
import { LeanClient } from '../../src/chaos/lean-client.js';
import { Messenger } from '../../src/chaos/messenger.js';
import type { Conversation, Population } from '../../src/chaos/population.js';
import { SdkClient } from '../../src/chaos/sdk-client.js';
import { SeededRandom } from '../../src/tools/seeded-random.js';
import { Writers } from '../../src/chaos/writers.js';
import { type Environment, eventually, type Fleet, type Replica, startFleet } from '../../src/index.js';
import { Subscription } from './subscription.js';

export interface CrowdOptions {
  readonly replicas: number;
  /** Each in one group of ten in which people write. */
  readonly busy: number;
  /** Each in one dialog in which nobody writes. */
  readonly idle: number;
  readonly env?: Environment;
}

/** A connection that the other side has ended. */
export interface Closed {
  readonly url: string;
  readonly code: number;
  readonly atMs: number;
}

const tailBytes = 1_048_576;

/** The pongs of those to whom nobody writes come often, and replicas can be made to forget what was before them. */
export const forgetful: Environment = { HEARTBEAT_MS: '2000', RECENT_EVENTS_MAX_BYTES: String(tailBytes) };

const groupSize = 10;
/** One client in so many is the SDK, the others do the same in the plainest way. */
const sdkShare = 10;
const stream = 'messenger.events';
const seed = 7;
/** How many connections are being opened at once while the crowd gathers: the accept rate is not what is looked at then. */
const arrivingAtOnce = 100;

/** Many clients on the ports of a fleet's replicas while people write to each other, and what their applications got. */
export class Crowd {
  readonly fleet: Fleet;
  readonly messenger: Messenger;
  readonly clients: readonly ChaosClient[];
  readonly closed: Closed[] = [];
  readonly complaints = new Set<string>();
  /** Called with every connection that the other side ends. */
  onClosed: (closed: Closed) => void = () => undefined;
  readonly #writers: Writers;
  readonly #presence: Subscription;

  private constructor(fleet: Fleet, messenger: Messenger, population: Population, busy: readonly Conversation[]) {
    this.fleet = fleet;
    this.messenger = messenger;
    this.clients = population.users.map((userId, index) => this.#createClient(userId, index));
    this.#presence = new Subscription(fleet.redis.port, 'gateway.presence');
    this.#writers = new Writers(messenger, { ...population, conversations: busy }, new SeededRandom(seed), async () => fleet.redis.port);
  }

  /** Resolves when each has had its hello and its first sync, and people write. */
  static async gather({ replicas, busy, idle, env }: CrowdOptions): Promise<Crowd> {
    const groups = groupsOf('group', busy, groupSize);
    const conversations = [...groups, ...groupsOf('quiet', idle, 2)];
    const population = { users: conversations.flatMap(({ participants }) => participants), conversations };
    const messenger = new Messenger(population);
    await messenger.server.start();
    const fleet = await startFleet({ replicas, nginx: false, env: { MESSENGER_URL: messenger.server.url, ...env } });
    const crowd = new Crowd(fleet, messenger, population, groups);
    try {
      await crowd.#arrive();
    } catch (error) {
      await crowd.disperse();
      throw error;
    }
    crowd.#writers.start();
    return crowd;
  }

  /** The clients whose first URL is that replica's: they are there until it ends. */
  on(replica: Replica): ChaosClient[] {
    return this.clients.filter((_, index) => index % this.fleet.replicas.length === this.fleet.replicas.indexOf(replica));
  }

  /** Those of the dialogs in which nobody writes. */
  get idle(): ChaosClient[] {
    return this.clients.filter(({ userId }) => userId.startsWith('quiet'));
  }

  get syncs(): number {
    return this.clients.reduce((sum, { audit }) => sum + audit.counts.syncs, 0);
  }

  /** How many clients were told to sync, by reason. */
  get told(): Record<string, number> {
    const reasons = this.clients.flatMap(({ audit }) => [...audit.counts.told.keys()]);
    return Object.fromEntries(reasons.map((reason) => [reason, reasons.filter((one) => one === reason).length]));
  }

  /** How often the fleet has said that somebody went offline, or came online. */
  published(status: 'online' | 'offline'): number {
    return this.#presence.messages.filter((message) => message['status'] === status).length;
  }

  /** Resolves when so many more messages than now have been written. */
  async untilWritten(more: number): Promise<void> {
    const wanted = this.messenger.messageCount + more;
    await eventually(() => this.messenger.messageCount >= wanted, { timeoutMs: 30_000, what: `${more} more messages` });
  }

  /**
   * Resolves when nothing that had been published until now can be replayed by anybody, and every client has had a pong since; with the
   * last id of what was there. The fleet must be a `forgetful` one.
   */
  async forgetThePast(): Promise<string> {
    const past = await eventually(async () => this.#lastId());
    const filler = { text: 'x'.repeat(tailBytes / 10) };
    for (let n = 0; n < 20; n++) await this.fleet.publish({ type: 'filler', recipients: ['nobody'], payload: filler });
    const present = await this.#lastId();
    await this.fleet.untilHandled(present); // what somebody has still to read must not go
    await this.fleet.redis.call('XTRIM', stream, 'MINID', present);
    const pings = await this.#pings();
    await eventually(
      async () => {
        // Each pings as often as the others: by the third round everybody has had an answer.
        if ((await this.#pings()) < pings + 3 * this.clients.length) throw new Error('somebody may not have had a pong');
      },
      { timeoutMs: 30_000, intervalMs: 100 },
    );
    return past;
  }

  /** Writing ends with one message in every conversation; resolves when every application has everything. */
  async untilWhole(timeoutMs: number): Promise<void> {
    this.#writers.pause();
    this.#writers.writeEverywhere();
    const missing = (): string[] =>
      this.clients.flatMap(({ userId, application }) =>
        application.missing(this.messenger.expected(userId)).map((what) => `${userId}: ${what}`),
      );
    await eventually(
      () => {
        if (this.#writers.backlog > 0) throw new Error(`${this.#writers.backlog} events are not on the bus`);
        const what = missing();
        if (what.length > 0) throw new Error(`${what.length} things are missing, e.g. ${what.slice(0, 5).join('; ')}`);
      },
      { timeoutMs, intervalMs: 500 },
    );
  }

  async disperse(): Promise<void> {
    this.#writers.stop();
    this.#presence.stop();
    for (const client of this.clients) client.stop();
    await this.fleet.stop();
    await this.messenger.server.stop();
  }

  async #lastId(): Promise<string> {
    const newest = await this.fleet.redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1);
    const [id] = [newest].flat(2).map(String);
    if (id === undefined) throw new Error('the stream is empty');
    return id;
  }

  async #pings(): Promise<number> {
    const pages = await Promise.all(this.fleet.replicas.map((replica) => replica.metrics()));
    return pages.reduce((sum, page) => sum + (page.value('gateway_inbound_frames_total', { type: 'ping' }) ?? 0), 0);
  }

  async #arrive(): Promise<void> {
    const hasArrived = ({ audit }: ChaosClient): boolean => audit.counts.hellos > 0 && !audit.isOwing;
    for (let next = 0; next < this.clients.length; next += arrivingAtOnce) {
      const some = this.clients.slice(next, next + arrivingAtOnce);
      for (const client of some) client.start();
      await eventually(() => some.every(hasArrived), { timeoutMs: 60_000, what: 'the first sync of every client' });
    }
  }

  #createClient(userId: string, index: number): ChaosClient {
    const complain = (complaint: string): void => void this.complaints.add(`${userId}: ${complaint}`);
    const urls = this.fleet.replicas.map(({ wsUrl }) => wsUrl);
    const first = index % urls.length;
    const options: ChaosClientOptions = {
      name: userId,
      userId,
      token: this.fleet.owners.issuer.token(userId),
      urls: [...urls.slice(first), ...urls.slice(0, first)],
      application: new Application(complain),
      audit: new FrameAudit(complain),
      onClosed: (url, code) => {
        const closed = { url, code, atMs: performance.now() };
        this.closed.push(closed);
        this.onClosed(closed);
      },
    };
    return index % sdkShare === 0 ? new SdkClient(options) : new LeanClient(options);
  }
}

function groupsOf(name: string, users: number, size: number): Conversation[] {
  return Array.from({ length: Math.ceil(users / size) }, (_, group) => ({
    id: `${name}-${group}`,
    type: size === 2 ? ('direct' as const) : ('group' as const),
    participants: Array.from({ length: size }, (_user, index) => `${name}-${group}-${index}`),
  }));
}

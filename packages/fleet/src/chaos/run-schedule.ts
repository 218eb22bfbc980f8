import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOSE_CODES } from '@event-gateway/protocol';
import { eventually } from '../eventually.js';
import { freePort } from '../network/free-port.js';
import { FleetHome } from '../processes/fleet-home.js';
import type { Environment } from '../services/node-service.js';
import { Replica } from '../services/replica.js';
import { FakeOwners } from '../tools/fake-owners.js';
import { Application } from './application.js';
import { Bus } from './bus.js';
import type { ChaosClient, ChaosClientOptions } from './chaos-client.js';
import { FaultInjector } from './fault-injector.js';
import { FrameAudit } from './frame-audit.js';
import { LeanClient, type Obedience } from './lean-client.js';
import { Messenger } from './messenger.js';
import { type Population, populate } from './population.js';
import { replicaCount, type Schedule } from './schedule.js';
import { SdkClient } from './sdk-client.js';
import { SeededRandom } from '../tools/seeded-random.js';
import { complainOfNeedlessSyncs, sumCounts, type Verdict } from './verdict.js';
import { Writers } from './writers.js';

export interface RunOptions {
  /** How long after the last fault everybody must have everything. Default 30 s: a Sentinel's second thoughts take some, a busy machine more. */
  readonly boundMs?: number;
  /** For every replica, over the run's own. */
  readonly env?: Environment;
  /** Of clients that are meant to do wrong; default: none, and a third of the clients is the SDK. */
  readonly obedience?: Obedience;
}

/** Devices of each user. */
const connectionsPerUser = 3;
const startMs = 60_000;
/** A connection whose replica has been away may end without a close frame for this long afterwards. */
const awayMs = 5000;
/** Leases and windows shortened, so that half a minute shows what else takes hours; nothing may be refused for its mere number. */
const shortened: Environment = {
  REPLICA_LEASE_TTL_MS: '2000',
  HEARTBEAT_MS: '1500',
  READ_BLOCK_MS: '300',
  READY_MAX_LAG_MS: '2000',
  CANARY_INTERVAL_MS: '300',
  REDIS_COMMAND_TIMEOUT_MS: '500',
  PRESENCE_LEASE_TTL_MS: '6000',
  PRESENCE_RENEW_MS: '2000',
  PRESENCE_GRACE_MS: '1000',
  SYNC_REQUIRED_JITTER_MS: '300',
  SYNC_MAX_PAGES: '3',
  RECONNECT_JITTER_MS: '300',
  DRAIN_WINDOW_MS: '1000',
  DRAIN_DEADLINE_MS: '5000',
  MAX_CONNECTIONS_PER_USER: '1000',
  UPGRADES_PER_SECOND: '5000',
  UPGRADES_BURST: '5000',
  MAX_LOOP_LAG_MS: '5000',
};

/** Plays a schedule on a fleet of its own, and judges what its clients saw. */
export async function runSchedule(schedule: Schedule, options: RunOptions = {}): Promise<Verdict> {
  const home = new FleetHome();
  const run = new Run(home, schedule, options);
  try {
    return await run.play();
  } finally {
    await run.stop();
    await home.close();
  }
}

class Run {
  readonly #home: FleetHome;
  readonly #schedule: Schedule;
  readonly #options: RunOptions;
  readonly #population: Population;
  readonly #messenger: Messenger;
  readonly #complaints = new Set<string>();
  #owners: FakeOwners | undefined;
  #injector: FaultInjector | undefined;
  #writers: Writers | undefined;
  #clients: readonly ChaosClient[] = [];

  constructor(home: FleetHome, schedule: Schedule, options: RunOptions) {
    this.#home = home;
    this.#schedule = schedule;
    this.#options = options;
    this.#population = populate(schedule.seed);
    this.#messenger = new Messenger(this.#population);
  }

  async play(): Promise<Verdict> {
    const { variant, seed } = this.#schedule;
    const bus = await Bus.start(this.#home, variant);
    const replicas = await this.#createReplicas(bus);
    const injector = new FaultInjector(replicas, bus, (complaint) => this.#complaints.add(complaint));
    this.#injector = injector;
    await injector.startReplicas();
    await this.#startClients(replicas, injector);
    const writers = new Writers(this.#messenger, this.#population, new SeededRandom(seed + 1), () => bus.masterPort());
    this.#writers = writers;
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const lastFaultMs = await this.#injectFaults(injector, writers);
    const wholeAfterMs = await this.#untilWhole(replicas, writers, lastFaultMs);
    // Whoever is whole must also be there for what comes next.
    if (wholeAfterMs !== undefined) {
      writers.writeEverywhere();
      await this.#untilWhole(replicas, writers, performance.now());
    }
    const counts = sumCounts(this.#clients);
    for (const complaint of complainOfNeedlessSyncs(this.#schedule, counts, this.#clients.length)) this.#complaints.add(complaint);
    const { messageCount: messages } = this.#messenger;
    const heldUpMs = delay.max / 1e6;
    return {
      schedule: this.#schedule,
      complaints: [...this.#complaints],
      wholeAfterMs,
      messages,
      retries: writers.retries,
      heldUpMs,
      counts,
    };
  }

  async stop(): Promise<void> {
    this.#injector?.stop();
    this.#writers?.stop();
    for (const client of this.#clients) client.stop();
    await this.#owners?.stop();
    await this.#messenger.server.stop();
  }

  async #createReplicas(bus: Bus): Promise<Replica[]> {
    await this.#messenger.server.start();
    this.#owners = await FakeOwners.start();
    const env = {
      ...shortened,
      ...bus.environment,
      ...this.#owners.environment(),
      MESSENGER_URL: this.#messenger.server.url,
      RECENT_EVENTS_MAX_BYTES: String(this.#schedule.tailBytes),
      ...this.#options.env,
    };
    const replicas: Replica[] = [];
    for (let index = 1; index <= replicaCount; index++) {
      const ports = { port: await freePort(), internalPort: await freePort() };
      replicas.push(new Replica({ home: this.#home, id: `gateway-${index}`, ...ports, env }));
    }
    return replicas;
  }

  /** Resolves when each has had its hello and its first sync. */
  async #startClients(replicas: readonly Replica[], injector: FaultInjector): Promise<void> {
    const urls = replicas.map(({ wsUrl }) => wsUrl);
    const clients = this.#population.users.flatMap((userId, userIndex) => {
      const token = this.#owners?.issuer.token(userId) ?? '';
      return Array.from({ length: connectionsPerUser }, (_, device) => {
        const first = (userIndex + device) % urls.length;
        const ordered = [...urls.slice(first), ...urls.slice(0, first)];
        return this.#createClient({ name: `${userId}/${device}`, userId, token, urls: ordered }, device, injector);
      });
    });
    this.#clients = clients;
    for (const client of clients) client.start();
    const areReady = (): boolean => clients.every(({ audit }) => audit.counts.hellos > 0 && !audit.isOwing);
    await eventually(areReady, { timeoutMs: startMs, what: 'the first sync of every client' });
  }

  #createClient(who: Pick<ChaosClientOptions, 'name' | 'userId' | 'token' | 'urls'>, device: number, injector: FaultInjector): ChaosClient {
    const complain = (complaint: string): void => void this.#complaints.add(`${who.name}: ${complaint}`);
    const options: ChaosClientOptions = {
      ...who,
      application: new Application(complain),
      audit: new FrameAudit(complain),
      onClosed: (url, code) => {
        // On a busy machine a client may be silent for too long; nothing else is a reason to end a connection.
        const isSilent = code === CLOSE_CODES.heartbeat.code;
        if (!isSilent && !injector.wasAway(url, awayMs)) complain(`a connection was closed with ${code} for no reason`);
      },
    };
    const { obedience } = this.#options;
    return device === 0 && obedience === undefined ? new SdkClient(options) : new LeanClient(options, obedience);
  }

  /** When the last of them was over, or when the writing was. */
  async #injectFaults(injector: FaultInjector, writers: Writers): Promise<number> {
    const startedAtMs = performance.now();
    const untilMs = (atMs: number): Promise<void> => sleep(Math.max(0, startedAtMs + atMs - performance.now()));
    writers.start();
    // On a busy machine one may take longer than planned: the next one for the same target waits.
    const busy = new Map<number | undefined, Promise<void>>();
    const faults = this.#schedule.faults.map((fault) => {
      const before = busy.get(fault.replica);
      const over = untilMs(fault.atMs)
        .then(() => before)
        .then(() => injector.inject(fault));
      busy.set(fault.replica, over);
      return over;
    });
    const written = untilMs(this.#schedule.durationMs).then(() => writers.pause());
    // All of them, also when one could not be played: none may start anything after the end.
    const results = await Promise.allSettled([...faults, written]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return performance.now();
  }

  /** How long it took; undefined, with complaints, if the bound was not enough. */
  async #untilWhole(replicas: readonly Replica[], writers: Writers, sinceMs: number): Promise<number | undefined> {
    const { boundMs = 30_000 } = this.#options;
    for (;;) {
      const missing = await this.#missing(replicas, writers);
      const tookMs = performance.now() - sinceMs;
      if (missing.length === 0) return tookMs;
      if (tookMs > boundMs) {
        for (const what of missing) this.#complaints.add(`${what} (${boundMs / 1000} s after the last fault and the last message)`);
        return undefined;
      }
      await sleep(100);
    }
  }

  async #missing(replicas: readonly Replica[], writers: Writers): Promise<string[]> {
    if (writers.backlog > 0) return [`${writers.backlog} events are not on the bus`];
    const missing: string[] = [];
    const expected = new Map(this.#population.users.map((userId) => [userId, this.#messenger.expected(userId)]));
    for (const { name, userId, application, audit } of this.#clients) {
      const what = application.missing(expected.get(userId) ?? { lastSeqs: new Map(), versions: new Map() });
      if (what.length > 0)
        missing.push(`${name}: the application has not got ${what.slice(0, 5).join(', ')}${what.length > 5 ? ' …' : ''}`);
      else if (audit.isOwing) missing.push(`${name}: a sync has not ended`);
    }
    if (missing.length > 0) return missing;
    return (await Promise.all(replicas.map(unreadiness))).flat();
  }
}

async function unreadiness(replica: Replica): Promise<string[]> {
  try {
    const { status, text } = await replica.get('/readyz');
    return status === 200 ? [] : [`${replica.id} is not ready: ${text}`];
  } catch (error) {
    return [`${replica.id} does not answer: ${String(error)}`];
  }
}

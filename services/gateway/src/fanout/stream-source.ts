import { asStreamId, compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { keys, LuaScript, type RedisConnections, RedisReplyError, RedisUnavailableError } from '@event-gateway/redis';
import { Backoff, type Clock, type Logger, RateLimitedLog, runLoop } from '@event-gateway/runtime';
import type { BatchHandler, EventSource, SourceReason, TailWarmer } from './event-source.js';
import { Epoch } from './stream/epoch.js';
import { LagProbe } from './stream/lag-probe.js';
import type { CanaryListener, ReaderFence } from './stream/ports.js';
import { ReadPace } from './stream/read-pace.js';
import type { Lag, StreamMetrics } from './stream/stream-metrics.js';
import { LeaseLapsedError, type ReadingState, StreamSession, type StreamSessionDeps } from './stream/stream-session.js';

const lastIdScript = LuaScript.load(new URL('./stream/scripts/last-id.lua', import.meta.url));

const unblockEveryMs = 50;

export interface StreamSourceOptions {
  readonly replicaId: string;
  readonly stream: string;
  readonly readBatchEntries: number;
  readonly readBlockMs: number;
  readonly backlogMaxAgeMs: number;
  readonly readyMaxLagMs: number;
  /** UNSAFE_SHARED_GROUP: one group for the whole fleet, each entry reaches one replica. */
  readonly usesSharedGroup: boolean;
}

export interface StreamSourceDeps {
  readonly connections: RedisConnections;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handler: BatchHandler;
  readonly warmer: TailWarmer;
  readonly fence: ReaderFence;
  readonly canary: CanaryListener;
  readonly metrics: StreamMetrics;
}

/**
 * A process that was stopped wakes up with clients whose cursors are ahead of it, and with connections that count as dead: asked at once,
 * it would refuse them all, although Redis is there. An outage is no shorter for waiting longer.
 */
const askPatienceMs = 1000;
const askEveryMs = 50;

/**
 * Reads the stream through this replica's own consumer group, at least once and in order, whatever happens to Redis and to the
 * connection, and says `gap` whenever it cannot prove that nothing was lost.
 *
 *   waiting → reading       the fence is held and a connection works
 *   reading → reconnecting  any fault: the connection is thrown away, the next one first reads what the old one may have taken along
 *   any     → drained       the batch under way has been handled and acknowledged
 */
export class StreamSource implements EventSource {
  readonly name = 'stream source';
  readonly #deps: StreamSourceDeps;
  readonly #sessionDeps: StreamSessionDeps;
  readonly #options: StreamSourceOptions;
  readonly #log: RateLimitedLog;
  readonly #group: string;
  readonly #epoch: Epoch;
  readonly #state: ReadingState = {
    position: undefined,
    startLastId: undefined,
    hasCaughtUp: false,
    isDraining: false,
    mustSettle: false,
  };
  readonly #stopping = new AbortController();
  readonly #backoff = new Backoff({ minMs: 20, maxMs: 500 });
  /** The fence has been held once. */
  #mayRead = false;
  #isReading = false;
  #readerId: number | undefined;
  #closeReader: () => void = () => undefined;
  #loops: Promise<void>[] = [];
  #lag: Lag | undefined;
  #lastId: Promise<StreamId | undefined> | undefined;
  #nextLastId: Promise<StreamId | undefined> | undefined;

  constructor(deps: StreamSourceDeps, options: StreamSourceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#group = options.usesSharedGroup ? keys.sharedGroup : keys.group(options.replicaId);
    this.#epoch = new Epoch({ stream: options.stream, group: this.#group });
    this.#log = new RateLimitedLog(deps.logger, deps.clock);
    this.#sessionDeps = { ...deps, limitedLog: this.#log, epoch: this.#epoch, pace: new ReadPace() };
  }

  isFromLostEpoch(cursor: StreamId): boolean {
    return this.#epoch.isFromBefore(cursor);
  }

  /** At most about a second old; undefined while Redis cannot be asked. */
  get lag(): Lag | undefined {
    return this.#lag;
  }

  unreadyReasons(): readonly SourceReason[] {
    const reasons: SourceReason[] = [];
    if (!this.#deps.fence.isHeld) reasons.push('fence');
    // Who does not read delivers no backlog, and does not know of any.
    if (!this.#isReading) reasons.push('redis');
    else if (!this.#state.hasCaughtUp) reasons.push('backlog');
    return reasons;
  }

  start(): void {
    if (this.#loops.length > 0) return;
    const { clock, logger } = this.#deps;
    const { signal } = this.#stopping;
    const probe = new LagProbe(
      {
        redis: this.#deps.connections.command,
        clock,
        logger,
        handledId: () => this.#state.position?.id,
        onLag: (lag) => this.#onLag(lag),
        onEpoch: (sighting) => {
          this.#state.mustSettle ||= this.#epoch.sighted(sighting);
        },
      },
      { stream: this.#options.stream, group: this.#group },
    );
    this.#loops = [runLoop({ name: this.name, signal, clock, logger }, () => this.#read()), probe.run(signal)];
  }

  async drain(): Promise<void> {
    this.#state.isDraining = true;
    const { signal } = this.#stopping;
    if (!this.#isReading) this.#stopping.abort();
    // A read that blocks comes back with nothing, instead of being cut with something on its way. It may be about to begin: ask again.
    while (!signal.aborted) {
      const readerId = this.#readerId;
      if (readerId !== undefined) await this.#quietly(() => this.#deps.connections.command.call('CLIENT', 'UNBLOCK', readerId));
      await this.#deps.clock.sleep(unblockEveryMs, signal);
    }
    await Promise.all(this.#loops);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#closeReader();
    await Promise.all(this.#loops);
  }

  /** Questions of the same moment share one answer, but never one that was on its way before: it may be older than what is asked about. */
  whoIsLast(): Promise<StreamId | undefined> {
    if (this.#lastId === undefined) {
      this.#lastId = this.#askLastId().finally(() => {
        this.#lastId = undefined;
      });
      return this.#lastId;
    }
    const askAgain = (): Promise<StreamId | undefined> => {
      this.#nextLastId = undefined;
      return this.whoIsLast();
    };
    this.#nextLastId ??= this.#lastId.then(askAgain, askAgain);
    return this.#nextLastId;
  }

  async #askLastId(): Promise<StreamId | undefined> {
    const { clock, connections } = this.#deps;
    const { signal } = this.#stopping;
    const ask = (): Promise<unknown> => connections.command.runScript(lastIdScript, [this.#options.stream], []);
    const untilMs = clock.nowMs() + askPatienceMs;
    for (;;) {
      const answer = await this.#quietly(ask);
      if (answer !== undefined || signal.aborted || clock.nowMs() >= untilMs) return asStreamId(answer);
      await clock.sleep(askEveryMs, signal);
    }
  }

  /** One connection, from its opening to its end. */
  async #read(): Promise<void> {
    const { fence, connections } = this.#deps;
    const { signal } = this.#stopping;
    if (!this.#mayRead) await Promise.race([fence.whenHeld(), aborted(signal)]);
    if (signal.aborted) return;
    this.#mayRead = true;
    const reader = connections.newReader(keys.reader(this.#options.replicaId));
    this.#closeReader = () => reader.close();
    try {
      await reader.open();
      const [clientId] = await reader.run([['CLIENT', 'ID']]);
      if (clientId instanceof RedisReplyError) throw clientId;
      const readerId = Number(clientId);
      if (!(await fence.admit(reader, readerId))) return await this.#notAdmitted();
      this.#readerId = readerId;
      const options = { ...this.#options, group: this.#group, consumer: this.#consumer(), batchEntries: this.#options.readBatchEntries };
      await new StreamSession(reader, this.#state, this.#sessionDeps, options, signal).run(() => this.#onReading());
      // Reading ends with the process and in no other way: the next round would begin without a pause, and without a word.
      if (!this.#state.isDraining) throw new Error('reading has ended by itself');
      this.#stopping.abort();
    } catch (error) {
      if (error instanceof LeaseLapsedError) this.#log.warn({}, 'the lease is not confirmed: nothing is read until it is');
      // An unreachable Redis is told by the connection; here it is the ordinary course of things.
      else if (!(error instanceof RedisUnavailableError)) throw error;
      this.#isReading = false;
      if (this.#state.isDraining) this.#stopping.abort();
      await this.#deps.clock.sleep(this.#backoff.next(), signal);
    } finally {
      this.#isReading = false;
      this.#readerId = undefined;
      reader.close();
    }
  }

  #consumer(): string {
    return this.#options.usesSharedGroup ? this.#options.replicaId : 'worker';
  }

  /** Fenced out is final; otherwise the lease has just run out, and is claimed again with the next connection. */
  async #notAdmitted(): Promise<void> {
    if (this.#deps.fence.isFencedOut) return this.#stopping.abort();
    this.#log.warn({}, 'not admitted to read: the lease is claimed again');
    await this.#deps.clock.sleep(this.#backoff.next(), this.#stopping.signal);
  }

  #onReading(): void {
    this.#isReading = true;
    this.#backoff.reset();
  }

  #onLag(lag: Lag | undefined): void {
    this.#lag = lag;
    this.#deps.metrics.lag(lag);
    const { position, startLastId } = this.#state;
    if (lag === undefined || position === undefined || startLastId === undefined || !this.#isReading) return;
    // On a stream that never rests no read comes back less than full.
    const isBehindStart = compareStreamIds(position.id, startLastId) < 0;
    if (!isBehindStart && lag.seconds * 1000 < this.#options.readyMaxLagMs) this.#state.hasCaughtUp = true;
  }

  /** Undefined when Redis does not answer, null when it refuses: asking again would bring the same. */
  async #quietly(ask: () => Promise<unknown>): Promise<unknown> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof RedisUnavailableError) return undefined;
      if (!(error instanceof RedisReplyError)) throw error;
      this.#log.warn({ error }, 'Redis refused a question about the stream');
      return null;
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

import type { MalformedReason } from '@event-gateway/protocol';
import { type CommandRedis, keys, LuaScript, RedisReplyError, RedisUnavailableError, type ScriptCall } from '@event-gateway/redis';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import { entryAsJson } from './entry-as-json.js';

const buryEntry = LuaScript.load(new URL('./scripts/bury-entry.lua', import.meta.url));

const claimTtlMs = 3_600_000;
/** Letters that wait for Redis to come back; more are dropped, with a line in the log. Each is at most 64 KiB. */
const maxWaiting = 256;
/** Between two attempts to write what waits: no reader stands still for it meanwhile. */
const retryEveryMs = 500;

export interface DeadLetterOptions {
  readonly stream: string;
  readonly replicaId: string;
  readonly deadLetterMaxEntries: number;
}

/** Puts malformed entries aside, each once for the whole fleet, for someone to look at. */
export class DeadLetters {
  readonly name = 'dead letters';
  readonly #redis: CommandRedis;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #options: DeadLetterOptions;
  readonly #stopping = new AbortController();
  #waiting: ScriptCall[] = [];
  #flush: Promise<void> | undefined;
  #retry: Promise<void> | undefined;

  constructor(redis: CommandRedis, clock: Clock, logger: Logger, options: DeadLetterOptions) {
    this.#redis = redis;
    this.#clock = clock;
    this.#log = new RateLimitedLog(logger, clock);
    this.#options = options;
  }

  /**
   * Letters of the same turn share one round trip. Resolves when they are written, or wait for Redis to come back: the reader does not
   * stand still for them, and every other replica writes the same ones. Never rejects.
   */
  bury(id: string, reason: MalformedReason, fields: readonly Buffer[]): Promise<void> {
    const { stream, replicaId, deadLetterMaxEntries } = this.#options;
    this.#waiting.push({
      script: buryEntry,
      keys: [keys.dead(stream, id), keys.deadLetters(stream)],
      args: [claimTtlMs, deadLetterMaxEntries, id, reason, replicaId, entryAsJson(fields)],
    });
    this.#flush ??= Promise.resolve().then(() => this.#write());
    return this.#flush;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#retry;
    if (this.#waiting.length > 0) this.#log.warn({ dropped: this.#waiting.length }, 'dropped dead letters that waited for Redis');
    this.#waiting = [];
  }

  async #write(): Promise<void> {
    this.#flush = undefined;
    const letters = this.#waiting;
    this.#waiting = [];
    try {
      const replies = await this.#redis.runScripts(letters);
      const refused = replies.find((reply) => reply instanceof RedisReplyError);
      if (refused !== undefined) this.#log.warn({ error: refused }, 'Redis refused a dead letter');
    } catch (error) {
      if (error instanceof RedisUnavailableError) this.#keep(letters);
      // Written again, they would fail again: the batch that they came with has gone out, and must not be read once more for them.
      else this.#log.warn({ error, dropped: letters.length }, 'dead letters could not be written');
    }
  }

  #keep(letters: readonly ScriptCall[]): void {
    const waiting = [...letters, ...this.#waiting];
    if (waiting.length > maxWaiting) this.#log.warn({ dropped: waiting.length - maxWaiting }, 'dropped dead letters while Redis is away');
    this.#waiting = waiting.slice(0, maxWaiting);
    this.#retry ??= this.#clock.sleep(retryEveryMs, this.#stopping.signal).then(() => {
      this.#retry = undefined;
      return this.#stopping.signal.aborted || this.#flush !== undefined ? undefined : this.#write();
    });
  }
}

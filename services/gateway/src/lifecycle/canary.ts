import { compareStreamIds, STREAM_START } from '@event-gateway/protocol';
import { type CommandRedis, keys, RedisReplyError, RedisUnavailableError } from '@event-gateway/redis';
import { type Clock, type Logger, runLoop } from '@event-gateway/runtime';
import type { CanaryMetrics } from './canary-metrics.js';

export interface CanaryOptions {
  readonly replicaId: string;
  readonly intervalMs: number;
  /** A canary that has not come back for this long, while Redis answers, is late. */
  readonly maxDelayMs: number;
}

/** The stream goes with a replica that does not come back. */
const streamTtlMs = 3_600_000;

/**
 * Sends an entry through the reader now and then and watches whether it comes out behind the loop. Everything else about a replica can
 * look healthy while nothing is delivered; the canary takes the way that events take, so it stops when they stop.
 */
export class Canary {
  readonly name = 'canary';
  readonly #redis: CommandRedis;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: CanaryOptions;
  readonly #stopping = new AbortController();
  /** Since when a canary has been on its way, and the lowest id with which one is back. */
  #awaited: { readonly id: string; readonly sentAtMs: number } | undefined;
  /** There has been a reader: from then on there must be one. */
  #hasReader = false;
  /** Since the last one was sent. */
  #lastSeenId: string = STREAM_START;
  #lastSeenMs: number;
  #loop: Promise<void> | undefined;

  constructor(redis: CommandRedis, clock: Clock, logger: Logger, metrics: CanaryMetrics, options: CanaryOptions) {
    this.#redis = redis;
    this.#clock = clock;
    this.#logger = logger;
    this.#options = options;
    this.#lastSeenMs = clock.nowMs();
    metrics.watch(() => this.#clock.nowMs() - this.#lastSeenMs);
  }

  start(): void {
    const { signal } = this.#stopping;
    const everyMs = this.#options.intervalMs;
    this.#loop ??= runLoop({ name: this.name, signal, clock: this.#clock, logger: this.#logger, everyMs }, () => this.#send());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  /** A canary has come through the reader and its loop. */
  seen(id: string): void {
    this.#lastSeenId = id;
    this.#lastSeenMs = this.#clock.nowMs();
    if (this.#awaited !== undefined && compareStreamIds(id, this.#awaited.id) >= 0) this.#awaited = undefined;
  }

  /** Redis answers, and canaries do not come back. */
  isLate(): boolean {
    return this.#redis.isUp && this.#awaited !== undefined && this.#clock.nowMs() - this.#awaited.sentAtMs > this.#options.maxDelayMs;
  }

  async #send(): Promise<void> {
    const stream = keys.canary(this.#options.replicaId);
    const sentAtMs = this.#clock.nowMs();
    this.#lastSeenId = STREAM_START;
    try {
      // The reader makes the stream, with its group.
      const [id] = await this.#redis.pipeline([
        ['XADD', stream, 'NOMKSTREAM', 'MAXLEN', 1, '*', 'at_ms', this.#clock.wallMs()],
        ['PEXPIRE', stream, streamTtlMs],
      ]);
      // A Redis that takes no canaries (it is full, or may not be written to) takes none of any replica.
      if (id instanceof RedisReplyError) throw id;
      this.#sent(typeof id === 'string' ? id : undefined, sentAtMs);
    } catch (error) {
      // While Redis does not answer, nothing can come back: begin anew when it does.
      this.#awaited = undefined;
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }

  /** @param id undefined: the stream is gone, and a reader that lives makes it anew; then whichever comes back first will do */
  #sent(id: string | undefined, sentAtMs: number): void {
    this.#hasReader ||= id !== undefined;
    // Before there has been a reader nobody waits for a canary.
    if (!this.#hasReader) return;
    const isBack = id !== undefined && compareStreamIds(this.#lastSeenId, id) >= 0;
    if (isBack) this.#awaited = undefined;
    else this.#awaited = { id: lowest(this.#awaited?.id, id ?? STREAM_START), sentAtMs: this.#awaited?.sentAtMs ?? sentAtMs };
  }
}

/** A stream that began anew on a host with a slower clock has lower ids, and the canary that was awaited from the old one is gone. */
function lowest(awaitedId: string | undefined, id: string): string {
  return awaitedId === undefined || compareStreamIds(id, awaitedId) < 0 ? id : awaitedId;
}

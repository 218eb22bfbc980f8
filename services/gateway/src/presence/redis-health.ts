import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';

/** From then on clients are told that presence is unknown. */
const longAwayMs = 10_000;
/** Redis is asked at least every second; when it has failed for this long it is not worth waiting for another time-out. */
const awayMs = 2000;

/**
 * Whether Redis answers presence. Learns from every call; says one warning per ten seconds for all of them. An outage begins with the
 * first call after the last success that fails, when it was sent: that nobody asked for a while is none.
 */
export class RedisHealth {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #log: RateLimitedLog;
  readonly #onReturned: (() => void)[] = [];
  readonly #onLongAway: (() => void)[] = [];
  #succeededMs = Number.NEGATIVE_INFINITY;
  #failingSinceMs: number | undefined;
  #hasSucceeded = false;
  #isLongAway = false;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
    this.#log = new RateLimitedLog(logger, clock);
  }

  /** Nothing but failures for a while: callers need not wait for one more failure. */
  get isAway(): boolean {
    return this.#failingMs() >= awayMs;
  }

  get isLongAway(): boolean {
    return this.#isLongAway;
  }

  /** Redis answers again after it was away. */
  onReturned(listener: () => void): void {
    this.#onReturned.push(listener);
  }

  /** Redis has not answered for ten seconds; once per outage. */
  onLongAway(listener: () => void): void {
    this.#onLongAway.push(listener);
  }

  succeeded(): void {
    const wasAway = this.isAway;
    this.#succeededMs = this.#clock.nowMs();
    this.#failingSinceMs = undefined;
    this.#hasSucceeded = true;
    this.#isLongAway = false;
    if (!wasAway) return;
    this.#logger.info({}, 'presence reaches Redis again');
    for (const listener of this.#onReturned) listener();
  }

  /** @param sentMs when the call that failed was sent, monotonic */
  failed(error: unknown, sentMs: number): void {
    this.#failingSinceMs ??= Math.max(sentMs, this.#succeededMs);
    // At a start presence asks before the connection stands: that is no news, unless it lasts.
    if (this.#hasSucceeded || this.isAway) this.#log.warn({ error }, 'presence cannot reach Redis');
    if (this.#isLongAway || this.#failingMs() < longAwayMs) return;
    this.#isLongAway = true;
    for (const listener of this.#onLongAway) listener();
  }

  #failingMs(): number {
    return this.#failingSinceMs === undefined ? 0 : this.#clock.nowMs() - this.#failingSinceMs;
  }
}

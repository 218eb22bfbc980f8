import { type Clock, type Logger, runLoop } from '@event-gateway/runtime';
import type { SweepClaim } from './lease-store.js';
import type { PresenceMetrics } from './presence-metrics.js';

/** What a sweeper asks of Redis; never rejects. */
export interface SweepSource {
  claimSweep(claimMs: number): Promise<SweepClaim | undefined>;
  expire(claim: SweepClaim): Promise<number | undefined>;
}

export interface SweeperDeps {
  readonly source: SweepSource;
  readonly metrics: PresenceMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

export interface SweeperOptions {
  readonly sweepMs: number;
}

/** However seldom it is swept, this often Redis is asked: on a replica where nothing happens nobody else notices that it is away, or back. */
const maxAskEveryMs = 1000;

/**
 * Says offline for those whose last lease is over. Every replica tries in every sweep; the script lets one of them. A replica that dies
 * in the middle is made up for by whoever is next.
 */
export class Sweeper {
  readonly #deps: SweeperDeps;
  readonly #sweepMs: number;
  readonly #askEveryMs: number;
  readonly #onLost: (() => void)[] = [];
  #abort: AbortController | undefined;
  /** The latest `presence.swept_at` seen: Redis never goes behind it, unless it forgot something. */
  #sweptMs: number | undefined;
  #isHolding = false;

  constructor(deps: SweeperDeps, options: SweeperOptions) {
    this.#deps = deps;
    this.#sweepMs = options.sweepMs;
    this.#askEveryMs = Math.min(options.sweepMs, maxAskEveryMs);
  }

  /** Called when Redis turns out to have forgotten what it knew. */
  onLost(listener: () => void): void {
    this.#onLost.push(listener);
  }

  start(): void {
    if (this.#abort !== undefined) return;
    this.#abort = new AbortController();
    const { clock, logger, random } = this.#deps;
    // A phase of its own, so that a fleet started at once does not ask at once.
    const everyMs = (): number => this.#askEveryMs * (0.8 + 0.4 * random());
    void runLoop({ name: 'presence sweep', signal: this.#abort.signal, clock, logger, everyMs }, (signal) => this.#sweep(signal));
  }

  stop(): void {
    this.#abort?.abort();
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    // Half a turn early: replicas that ask at their own times still sweep at least that often together, and not each of them every time.
    let claim = await this.#claim(this.#sweepMs - this.#askEveryMs / 2);
    while (claim !== undefined && claim.users.length > 0 && !signal.aborted) {
      const gone = await this.#deps.source.expire(claim);
      this.#deps.metrics.transition('offline', gone ?? 0);
      // Nobody went: Redis failed, or all of them were taken up again. Asking on could go on for ever.
      if (gone === undefined || gone === 0) return;
      claim = await this.#claim(0);
    }
  }

  async #claim(claimMs: number): Promise<SweepClaim | undefined> {
    const claim = await this.#deps.source.claimSweep(claimMs);
    this.#deps.metrics.online(claim?.onlineCount);
    if (claim === undefined) return undefined;
    const { sweptBeforeMs, sweptMs, nowMs } = claim;
    const isLost = this.#sweptMs !== undefined && (sweptBeforeMs === undefined || sweptBeforeMs < this.#sweptMs);
    this.#sweptMs = sweptMs;
    this.#noteHold(sweptMs > nowMs, sweptMs - nowMs);
    if (isLost) for (const listener of this.#onLost) listener();
    return claim;
  }

  #noteHold(isHolding: boolean, holdMs: number): void {
    if (isHolding && !this.#isHolding) this.#deps.logger.info({ holdMs }, 'nobody swept presence for a while, waiting for the living');
    this.#isHolding = isHolding;
  }
}

/** See `ClientTiming`. */
export interface BackoffOptions {
  readonly firstRetryMaxMs: number;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
}

/** Drains that follow each other this fast are no drains: the hint alone would make a tight loop. */
const MAX_TRUSTED_HINTS = 2;

/**
 * How long to wait before the next attempt: the first one uniform over a fixed window (or what the gateway asked for), then
 * exponential with full jitter. An open socket earns no credit; only a stable one does (`reset`).
 */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: () => number;
  #failures = 0;

  constructor(options: BackoffOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
  }

  /** `hintMs`: what a `reconnect` frame said. Unhurried either way: the wait is drawn anew each time. */
  nextMs(hintMs?: number): number {
    const failures = this.#failures;
    this.#failures += 1;
    if (hintMs !== undefined) return hintMs + (failures < MAX_TRUSTED_HINTS ? 0 : this.#jittered(failures));
    return failures === 0 ? this.#random() * this.#options.firstRetryMaxMs : this.#jittered(failures);
  }

  reset(): void {
    this.#failures = 0;
  }

  #jittered(failures: number): number {
    return this.#random() * Math.min(this.#options.backoffMaxMs, this.#options.backoffBaseMs * 2 ** Math.min(failures, 30));
  }
}

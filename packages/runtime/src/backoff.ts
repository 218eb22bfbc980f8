export interface BackoffOptions {
  readonly minMs: number;
  readonly maxMs: number;
  readonly random?: () => number;
}

/** Exponential back-off with full jitter: uniform between the minimum and a ceiling that doubles up to the maximum. */
export class Backoff {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #ceilingMs: number;

  constructor({ minMs, maxMs, random = Math.random }: BackoffOptions) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#random = random;
    this.#ceilingMs = minMs;
  }

  /** How long to wait now, in ms. */
  next(): number {
    this.#ceilingMs = Math.min(this.#maxMs, this.#ceilingMs * 2);
    return this.#minMs + this.#random() * (this.#ceilingMs - this.#minMs);
  }

  /** After a success: the next failure waits briefly again. */
  reset(): void {
    this.#ceilingMs = this.#minMs;
  }
}

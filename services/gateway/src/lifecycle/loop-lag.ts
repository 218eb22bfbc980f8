import { type Clock, every, type Timer } from '@event-gateway/runtime';

/** How often the loop is asked to be on time. */
const sampleEveryMs = 100;

/** One pause (a collection of garbage, a stopped container) refuses nobody; only a loop that stays behind does. */
const sustainedMs = 2000;

/** Says when the event loop has been late for a while: work is accepted faster than it is done. */
export class LoopLag {
  readonly name = 'loop-lag';
  readonly #clock: Clock;
  readonly #maxLagMs: number;
  #timer: Timer | undefined;
  #sampledAtMs = 0;
  #lateSinceMs: number | undefined;
  #lateUntilMs = 0;

  constructor({ clock }: { readonly clock: Clock }, { maxLoopLagMs }: { readonly maxLoopLagMs: number }) {
    this.#clock = clock;
    this.#maxLagMs = maxLoopLagMs;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#sampledAtMs = this.#clock.nowMs();
    this.#timer = every(this.#clock, sampleEveryMs, () => this.#sample());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#lateSinceMs = undefined;
  }

  /** Every sample of the last two seconds was late by more than the limit. */
  get isLagging(): boolean {
    return this.#lateSinceMs !== undefined && this.#lateUntilMs - this.#lateSinceMs >= sustainedMs;
  }

  #sample(): void {
    const nowMs = this.#clock.nowMs();
    const lagMs = nowMs - this.#sampledAtMs - sampleEveryMs;
    this.#sampledAtMs = nowMs;
    this.#lateUntilMs = nowMs;
    // From the end of the first late sample on: a single pause, however long, has lasted for no time by then.
    if (lagMs > this.#maxLagMs) this.#lateSinceMs ??= nowMs;
    else this.#lateSinceMs = undefined;
  }
}

import { type Clock, every, type Timer } from '@event-gateway/runtime';

/** Renewals of a period come in this many groups: enough to spread them, few enough that a group fills a chunk. */
const slotCount = 32;

/**
 * Calls back for each item about when its delay is over: never earlier, up to two slots later (earlier only when the process stood still
 * for longer than a round, and everything comes up). One timer for all of them, where a timer
 * each would cost ten thousand.
 */
export class RenewalWheel<T> {
  readonly #clock: Clock;
  readonly #slotMs: number;
  readonly #onDue: (item: T) => void;
  readonly #slots: T[][] = Array.from({ length: slotCount + 2 }, () => []);
  /** The last slot in time that was served. */
  #served = 0;
  #timer: Timer | undefined;

  /** No delay is longer than `periodMs`. */
  constructor(clock: Clock, periodMs: number, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#slotMs = Math.max(1, periodMs / slotCount);
    this.#onDue = onDue;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#served = this.#slotOf(this.#clock.nowMs());
    this.#timer = every(this.#clock, this.#slotMs, () => this.#turn());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const slot of this.#slots) slot.length = 0;
  }

  add(item: T, delayMs: number): void {
    const slot = this.#slotOf(this.#clock.nowMs() + delayMs) + 1;
    this.#slots[slot % this.#slots.length]?.push(item);
  }

  #turn(): void {
    const current = this.#slotOf(this.#clock.nowMs());
    const due: T[] = [];
    // Every slot once at most, however long the process stood still; and all before the first is handed out, which may come back.
    for (let slot = Math.max(this.#served + 1, current - this.#slots.length + 1); slot <= current; slot++) {
      const index = slot % this.#slots.length;
      due.push(...(this.#slots[index] ?? []));
      this.#slots[index] = [];
    }
    this.#served = current;
    for (const item of due) this.#onDue(item);
  }

  #slotOf(ms: number): number {
    return Math.floor(ms / this.#slotMs);
  }
}

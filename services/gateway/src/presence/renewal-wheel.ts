import { type Clock, every, type Timer } from '@event-gateway/runtime';

/** Renewals of a period come in this many groups: enough to spread them, few enough that a group fills a chunk. */
const slotCount = 32;

/**
 * Calls back for each item about when its delay is over: never earlier, up to a slot later. One timer for all of them, where a timer
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
    // After a long standstill of the process the wheel is behind; nothing may land in a slot that it has passed.
    this.#slots[Math.min(Math.max(slot, this.#served + 1), this.#served + this.#slots.length - 1) % this.#slots.length]?.push(item);
  }

  #turn(): void {
    const current = this.#slotOf(this.#clock.nowMs());
    // Every slot once at most, however long the process stood still.
    const first = Math.max(this.#served + 1, current - this.#slots.length + 1);
    for (let slot = first; slot <= current; slot++) {
      this.#served = slot;
      const index = slot % this.#slots.length;
      const due = this.#slots[index];
      if (due === undefined || due.length === 0) continue;
      this.#slots[index] = [];
      for (const item of due) this.#onDue(item);
    }
    this.#served = current;
  }

  #slotOf(ms: number): number {
    return Math.floor(ms / this.#slotMs);
  }
}

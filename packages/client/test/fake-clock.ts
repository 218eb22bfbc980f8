import type { Clock } from '../src/clock.js';

interface FakeTimer {
  readonly atMs: number;
  readonly run: () => void;
}

/** Time that moves only when told to. */
export class FakeClock implements Clock {
  /** Monotonic: what timers run by. */
  #nowMs = 1_767_225_600_000;
  #wallOffsetMs = 0;
  readonly #timers = new Set<FakeTimer>();

  nowMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  get pending(): number {
    return this.#timers.size;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Runs what is due on the way, in order, and lets promises settle after each. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (let timer = this.#nextDue(untilMs); timer !== undefined; timer = this.#nextDue(untilMs)) {
      this.#nowMs = Math.max(this.#nowMs, timer.atMs);
      this.#timers.delete(timer);
      timer.run();
      await settle();
    }
    this.#nowMs = untilMs;
  }

  /** The wall clock jumps: somebody sets it, or the machine sleeps and its timers sleep with it. */
  setWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** The page is frozen, or the machine sleeps: time goes on, and no timer runs until the next `advance`, when all are overdue. */
  sleep(ms: number): void {
    this.#nowMs += ms;
  }

  /** The process is gone, and its timers with it. */
  drop(): void {
    this.#timers.clear();
  }

  #nextDue(untilMs: number): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) if (timer.atMs <= untilMs && (next === undefined || timer.atMs < next.atMs)) next = timer;
    return next;
  }
}

/** Lets every promise that can settle do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

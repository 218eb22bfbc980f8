import { type Clock, sleepOn, type Timer } from './clock.js';

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly fn: () => void;
}

/** Time that stands still until a test moves it. Timers fire in the order of their due times, then of their creation. */
export class FakeClock implements Clock {
  #nowMs: number;
  #order = 0;
  readonly #pending = new Set<Pending>();
  readonly #epochMs: number;

  constructor(epochMs = 1_767_225_600_000) {
    this.#nowMs = 0;
    this.#epochMs = epochMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#epochMs + this.#nowMs;
  }

  setTimeout(fn: () => void, ms: number): Timer {
    const entry: Pending = { atMs: this.#nowMs + Math.max(0, ms), order: this.#order++, fn };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** How many timers wait. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Moves time by `ms`, firing what falls due; between two timers, promises that became runnable run. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#pending.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fn();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** The process sleeps for `ms`: time passes at once, and what fell due meanwhile fires late. */
  async jump(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.advance(0);
  }

  #next(untilMs: number): Pending | undefined {
    let first: Pending | undefined;
    for (const entry of this.#pending) {
      if (entry.atMs > untilMs) continue;
      if (first === undefined || entry.atMs < first.atMs || (entry.atMs === first.atMs && entry.order < first.order)) first = entry;
    }
    return first;
  }
}

/** A macrotask turn: every promise chain that can go on has gone on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

import type { Clock } from './clock.js';

/**
 * Every timer of one client, by name: setting a name again replaces it. Closed, it holds none and takes none, so a client
 * that was closed leaves nothing behind, whatever was under way.
 */
export class Timers {
  readonly #clock: Clock;
  readonly #cancels = new Map<string, () => void>();
  #isOpen = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
    for (const name of [...this.#cancels.keys()]) this.clear(name);
  }

  set(name: string, delayMs: number, run: () => void): void {
    this.clear(name);
    if (!this.#isOpen) return;
    const cancel = this.#clock.after(delayMs, () => {
      this.#cancels.delete(name);
      run();
    });
    this.#cancels.set(name, cancel);
  }

  /** True at most once per `everyMs`. */
  isDue(name: string, everyMs: number): boolean {
    if (this.has(name)) return false;
    this.set(name, everyMs, () => {});
    return true;
  }

  has(name: string): boolean {
    return this.#cancels.has(name);
  }

  clear(name: string): void {
    this.#cancels.get(name)?.();
    this.#cancels.delete(name);
  }
}

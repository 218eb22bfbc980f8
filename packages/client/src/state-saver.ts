import { type ClientState, decodeState } from './client-state.js';
import type { StateStorage } from './storage.js';
import type { Timers } from './timers.js';

/** Saves at most once per interval, and at once where a moment later may be too late. */
export class StateSaver {
  readonly #storage: StateStorage | undefined;
  readonly #timers: Timers;
  readonly #everyMs: number;
  readonly #state: () => ClientState;
  readonly #failed: (cause: unknown) => void;
  #isLoaded = false;

  constructor(
    storage: StateStorage | undefined,
    timers: Timers,
    everyMs: number,
    state: () => ClientState,
    failed: (cause: unknown) => void,
  ) {
    this.#storage = storage;
    this.#timers = timers;
    this.#everyMs = everyMs;
    this.#state = state;
    this.#failed = failed;
  }

  /** undefined when there is none, or none that can be read: then this is a first start. */
  async load(): Promise<ClientState | undefined> {
    try {
      return decodeState(await this.#storage?.load());
    } catch (error) {
      this.#failed(error);
      return undefined;
    } finally {
      this.#isLoaded = true;
    }
  }

  changed(): void {
    if (this.#storage !== undefined && !this.#timers.has('save')) this.#timers.set('save', this.#everyMs, () => void this.save());
  }

  async save(): Promise<void> {
    this.#timers.clear('save');
    // Before that, there is nothing here that could be worth more than what is stored.
    if (!this.#isLoaded) return;
    try {
      await this.#storage?.save(this.#state());
    } catch (error) {
      this.#failed(error);
    }
  }
}

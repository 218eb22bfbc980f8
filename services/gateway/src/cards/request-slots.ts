export type SlotVerdict = 'granted' | 'full' | 'aborted';

interface Waiter {
  readonly grant: (verdict: SlotVerdict) => void;
}

/** At most `maxConcurrent` requests at once and `maxQueued` that wait for their turn, first come, first served. */
export class RequestSlots {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  #taken = 0;
  /** Sets keep their order and let a waiter leave from the middle at no cost. */
  readonly #urgent = new Set<Waiter>();
  readonly #waiting = new Set<Waiter>();

  constructor(maxConcurrent: number, maxQueued: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#maxQueued = maxQueued;
  }

  /**
   * Takes a slot; whoever was `granted` one owes a `release`. `full`: the queue is, too. An urgent request goes first and is
   * never refused: its caller has been through the queue already and only goes on with what it began.
   */
  async take(signal?: AbortSignal, isUrgent = false): Promise<SlotVerdict> {
    if (signal?.aborted) return 'aborted';
    if (this.#taken < this.#maxConcurrent) {
      this.#taken++;
      return 'granted';
    }
    if (!isUrgent && this.#waiting.size >= this.#maxQueued) return 'full';
    return this.#wait(signal, isUrgent);
  }

  release(): void {
    const next = first(this.#urgent) ?? first(this.#waiting);
    if (next === undefined) this.#taken--;
    else next.grant('granted');
  }

  #wait(signal: AbortSignal | undefined, isUrgent: boolean): Promise<SlotVerdict> {
    const queue = isUrgent ? this.#urgent : this.#waiting;
    return new Promise((resolve) => {
      const abort = (): void => waiter.grant('aborted');
      const waiter: Waiter = {
        grant: (verdict) => {
          queue.delete(waiter);
          signal?.removeEventListener('abort', abort);
          resolve(verdict);
        },
      };
      queue.add(waiter);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }
}

function first(waiters: ReadonlySet<Waiter>): Waiter | undefined {
  for (const waiter of waiters) return waiter;
  return undefined;
}

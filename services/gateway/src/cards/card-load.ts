/** One card on its way from its owner, for all who wait for it. */
export class CardLoad<I extends string> {
  readonly id: I;
  /** Resolves when the card has come, or will not. */
  readonly done: Promise<void>;
  /** Raised when the card is invalidated: what was asked before then must not be stored. */
  generation = 0;
  /** Monotonic ms of its last request. */
  requestedAtMs = 0;
  /** Requests under way, those of older generations included. */
  requests = 0;
  /** A request of the present generation is under way. */
  isCurrent = false;
  /** Somebody has waited for it in vain, so nobody else need. */
  isOverdue = false;
  isDone = false;
  #resolve: () => void = () => undefined;

  constructor(id: I) {
    this.id = id;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  finish(): void {
    this.isDone = true;
    this.#resolve();
  }
}

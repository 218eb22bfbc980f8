interface AskedSync {
  ref: string | undefined;
  /** How many holes had been announced when it was asked. */
  readonly holes: number;
}

/** The syncs that a client waits for on its connection. One that was slow to answer may have been asked again meanwhile. */
export class AskedSyncs {
  #waiting: AskedSync[] = [];
  /** Its page was the last but more were to come. */
  #continued: AskedSync | undefined;

  get areNone(): boolean {
    return this.#waiting.length === 0;
  }

  forget(): void {
    this.#waiting = [];
    this.#continued = undefined;
  }

  asked(ref: string | undefined, holes: number): void {
    this.#waiting.push({ ref, holes });
  }

  /** The client goes on with the token that the last answer brought. */
  wentOn(ref: string | undefined): void {
    if (this.#continued !== undefined) this.#continued.ref = ref;
  }

  hasMore(ref: string | undefined): void {
    this.#continued = this.#find(ref);
  }

  /** It has ended, well or not: the number of holes that it knew of; undefined: nobody had asked. */
  ended(ref: string | undefined): number | undefined {
    const sync = this.#find(ref);
    this.#waiting = this.#waiting.filter((one) => one !== sync);
    return sync?.holes;
  }

  #find(ref: string | undefined): AskedSync | undefined {
    return ref === undefined ? this.#waiting[0] : this.#waiting.find((one) => one.ref === ref);
  }
}

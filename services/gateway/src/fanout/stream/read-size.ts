/** One answer should not be larger than this: it is in memory as a whole, and everybody waits until it is here. */
export const maxReplyBytes = 8 * 1024 * 1024;

export interface ReadSizeOptions {
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** For the first read, when nothing is known of their size. */
  readonly firstEntries?: number;
}

/** How many entries to ask for at once: Redis bounds an answer by their number only, so fewer where they have been large lately. */
export class ReadSize {
  readonly #options: ReadSizeOptions;
  #entries: number;

  constructor(options: ReadSizeOptions) {
    this.#options = options;
    this.#entries = options.firstEntries ?? options.maxEntries;
  }

  /** At least one, whatever its size. */
  get entries(): number {
    return this.#entries;
  }

  /** An answer came. */
  learn(entries: number, bytes: number): void {
    if (entries === 0) return;
    const { maxEntries, maxBytes } = this.#options;
    this.#entries = Math.max(1, Math.min(maxEntries, Math.floor(maxBytes / (bytes / entries))));
  }
}

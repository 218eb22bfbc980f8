/** The seqs of one conversation that have come, however they came. */
export class SeqTrack {
  #contiguous = 0;
  readonly #above = new Set<number>();

  /** Everything up to here has come. */
  get contiguous(): number {
    return this.#contiguous;
  }

  /** The lowest seq that has come although one below it has not. */
  get lowestAbove(): number | undefined {
    return this.#above.size === 0 ? undefined : Math.min(...this.#above);
  }

  has(seq: number): boolean {
    return seq <= this.#contiguous || this.#above.has(seq);
  }

  add(seq: number): void {
    if (seq > this.#contiguous) this.#above.add(seq);
    this.#settle();
  }

  /** Everything up to here has been delivered. */
  raise(seq: number): void {
    this.#contiguous = Math.max(this.#contiguous, seq);
    for (const one of this.#above) if (one <= this.#contiguous) this.#above.delete(one);
    this.#settle();
  }

  #settle(): void {
    while (this.#above.delete(this.#contiguous + 1)) this.#contiguous++;
  }
}

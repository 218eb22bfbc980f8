/** Which seqs were received, as few ranges as there are holes between them: a thousand messages behind one hole cost one range. */
export class SeqRanges {
  /** Ascending, disjoint and never adjacent. */
  #ranges: { from: number; to: number }[] = [];

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  get lowest(): number | undefined {
    return this.#ranges[0]?.from;
  }

  get highest(): number | undefined {
    return this.#ranges.at(-1)?.to;
  }

  has(seq: number): boolean {
    return this.#ranges.some((range) => range.from <= seq && seq <= range.to);
  }

  add(seq: number): void {
    const ranges = [...this.#ranges, { from: seq, to: seq }].sort((a, b) => a.from - b.from);
    this.#ranges = [];
    for (const range of ranges) {
      const last = this.#ranges.at(-1);
      if (last !== undefined && range.from <= last.to + 1) last.to = Math.max(last.to, range.to);
      else this.#ranges.push(range);
    }
  }

  /** Everything up to `seq` is known by now: drops it, and returns the end of the range that continues it (or `seq`). */
  absorb(seq: number): number {
    let end = seq;
    this.#ranges = this.#ranges.filter((range) => {
      if (range.from > end + 1) return true;
      end = Math.max(end, range.to);
      return false;
    });
    return end;
  }
}

/** Repetitions of one figure: their middle and how far they lie apart. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: readonly number[];
}

/** @param samples at least one */
export function summarize(samples: readonly number[]): Summary {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(sorted.length - 1), samples };
}

/**
 * One series over another, repetition by repetition: what slowed both down at that moment cancels out.
 * @param series both in the order in which they alternated
 */
export function ratios(series: readonly number[], other: readonly number[]): Summary {
  return summarize(series.map((value, index) => value / (other[index] ?? Number.NaN)));
}

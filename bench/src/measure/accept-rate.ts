/** How many connections a replica had opened since its start, by its own count, at a moment between two others. */
export interface OpenedCount {
  /** On the machine's clock: the replica was asked at the one, and had answered at the other. */
  readonly askedUs: number;
  readonly answeredUs: number;
  readonly opened: number;
}

/**
 * By how many connections a replica was over its bucket: the worst of all spans between two counts. Every span is taken for as long as it
 * may have been, so nothing above 0 is an error of measurement; at most 0 says that the rate was kept.
 */
export function mostOverBucket(counts: readonly OpenedCount[], { perSecond, burst }: { perSecond: number; burst: number }): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const [index, from] of counts.entries()) {
    for (const until of counts.slice(index + 1)) {
      const spanS = (until.answeredUs - from.askedUs) / 1_000_000;
      most = Math.max(most, until.opened - from.opened - burst - perSecond * spanS);
    }
  }
  return most;
}

import { formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import type { Target } from '../targets/target.js';
import { ratios, type Summary, summarize } from './statistics.js';

export interface Comparison {
  readonly target: Target;
  readonly summary: Summary;
  /** The gateway's figure over this one's; undefined for the gateway itself, and in a run without it. */
  readonly ratio: Summary | undefined;
}

/**
 * Records one figure of every target and the gateway's ratio to each, under `<id>/<target>` and `<id>/ratio/<target>`.
 * @param series by target, in the order in which they alternated
 */
export function compare(recorder: Recorder, id: string, series: ReadonlyMap<Target, readonly number[]>): Comparison[] {
  const own = [...series].find(([{ name }]) => name === 'gateway')?.[1];
  return [...series].map(([target, samples]) => {
    const summary = recorder.figure(`${id}/${target.name}`, summarize(samples));
    const isPeer = own !== undefined && target.name !== 'gateway';
    return { target, summary, ratio: isPeer ? recorder.figure(`${id}/ratio/${target.name}`, ratios(own, samples)) : undefined };
  });
}

export function ratioCell({ ratio }: Comparison): string {
  return ratio === undefined ? '' : formatSummary(ratio);
}

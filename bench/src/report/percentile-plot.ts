import type { Histogram } from 'hdr-histogram-js';
import type { Plot } from './result.js';

const shown = [0, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99];
const labelled = [50, 90, 99, 99.9, 99.99];

/** The further right, the rarer: one step is ten times fewer events. */
const rarity = (percentile: number): number => 100 / (100 - percentile);

/** Latency by percentile. @param histograms by name, in microseconds */
export function percentilePlot(name: string, title: string, histograms: ReadonlyMap<string, Histogram>): Plot {
  return {
    name,
    title,
    x: { label: 'percentile', scale: 'log', ticks: labelled.map((percentile) => ({ at: rarity(percentile), text: String(percentile) })) },
    y: { label: 'ms', scale: 'log' },
    series: [...histograms].map(([series, histogram]) => ({
      name: series,
      points: shown.map((percentile) => [rarity(percentile), histogram.getValueAtPercentile(percentile) / 1000] as const),
    })),
  };
}

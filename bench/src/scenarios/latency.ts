import type { Histogram } from 'hdr-histogram-js';
import type { Bench } from '../bench.js';
import { alternate } from '../measure/alternate.js';
import { summarize } from '../measure/statistics.js';
import { formatNumber, formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import { percentilePlot } from '../report/percentile-plot.js';
import { serversCpuUs, type Target } from '../targets/target.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

interface LatencySample {
  readonly histogram: Histogram;
  readonly cpuUsPerFrame: number;
  readonly lateP99Us: number;
}

export interface LatencyCell {
  readonly eventsPerS: number;
  readonly k: number;
}

const percentiles = [50, 99, 99.9] as const;

export const latency: Scenario = {
  name: 'latency',
  about:
    'Open-loop load: events are due at Poisson arrivals that nobody’s slowness delays, and a latency runs from when its event was due ' +
    'until the client has the frame.',
  run: async (bench, recorder) => {
    const { sockets, cells } = bench.options.sizes.latency;
    const targets = await bench.startTargets();
    for (const target of targets) await bench.connect(target, { count: sockets });
    for (const cell of cells) await measureCell(bench, recorder, targets, cell);
    await bench.stopTargets(targets);
  },
};

async function measureCell(bench: Bench, recorder: Recorder, targets: readonly Target[], cell: LatencyCell): Promise<void> {
  const { eventsPerS, k } = cell;
  const { sockets, durationMs, conversations } = bench.options.sizes.latency;
  const workload: Workload = { seed: k, name: `live-of-${k}`, conversations, membersEach: k, firstUser: 0, users: sockets };
  for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
  for (const target of targets) {
    await bench.prepare(target, workload);
    await measureLive(bench, target, cell, { durationMs: durationMs / 4, seed: 0 });
  }
  recorder.progress(`${eventsPerS} events/s, k = ${k}`);
  const samples = await alternate(targets, bench.options.sizes.repetitions, (target, repetition) =>
    measureLive(bench, target, cell, { durationMs, seed: repetition + 1 }),
  );
  report(recorder, cell, samples);
}

async function measureLive(
  { generator, publisher }: Bench,
  target: Target,
  { eventsPerS, k }: LatencyCell,
  { durationMs, seed }: { readonly durationMs: number; readonly seed: number },
): Promise<LatencySample> {
  await generator.reset(target.name, { measuresLatency: true });
  const before = serversCpuUs(target);
  const { events, lateP99Us } = await publisher.paced({ source: target.name, eventsPerS, durationMs, seed });
  await generator.untilFrames(target.name, events * k);
  const cpuUsPerFrame = (serversCpuUs(target) - before) / (events * k);
  return { histogram: await generator.latencies(target.name), cpuUsPerFrame, lateP99Us };
}

function report(recorder: Recorder, { eventsPerS, k }: LatencyCell, samples: ReadonlyMap<Target, readonly LatencySample[]>): void {
  const id = `latency/${eventsPerS}x${k}`;
  const late = [...samples.values()].flat().map(({ lateP99Us }) => lateP99Us / 1000);
  const rows = [...samples].map(([{ name }, taken]) => {
    const ms = (percentile: number) => taken.map(({ histogram }) => histogram.getValueAtPercentile(percentile) / 1000);
    const cells = percentiles.map((percentile) => recorder.figure(`${id}/p${percentile}/${name}`, summarize(ms(percentile))));
    const cpu = recorder.figure(`${id}/cpu/${name}`, summarize(taken.map(({ cpuUsPerFrame }) => cpuUsPerFrame)));
    return [name, ...cells.map(formatSummary), formatSummary(cpu)];
  });
  recorder.table({
    title: `${eventsPerS} events/s to ${k} sockets each, ms; the publisher itself was up to ${formatNumber(Math.max(...late))} ms late (p99)`,
    columns: ['system', 'p50', 'p99', 'p99.9', 'CPU-µs a frame'],
    rows,
  });
  recorder.plot(percentilePlot(`latency-${eventsPerS}x${k}`, `Latency at ${eventsPerS} events/s × ${k}`, merged(samples)));
}

function merged(samples: ReadonlyMap<Target, readonly LatencySample[]>): Map<string, Histogram> {
  return new Map(
    [...samples].map(([{ name }, [first, ...rest]]) => {
      if (first === undefined) throw new Error(`no sample of ${name}`);
      for (const { histogram } of rest) first.histogram.add(histogram);
      return [name, first.histogram];
    }),
  );
}

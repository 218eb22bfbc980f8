import type { Bench } from '../bench.js';
import { alternate } from '../measure/alternate.js';
import { compare, ratioCell } from '../measure/compare.js';
import { type DrainWork, measureDrain } from '../measure/drain.js';
import { formatNumber, formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import type { FanoutCell } from '../sizes.js';
import type { Target } from '../targets/target.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

/** Bytes of recipients that a pool of encoded events may take. */
const poolBytes = 16_000_000;

export const fanout: Scenario = {
  name: 'fanout',
  about: 'A saturated server: events that pile up while it is stopped and are delivered in one go, to k sockets each.',
  run: async (bench, recorder) => {
    for (const sockets of new Set(bench.options.sizes.fanout.map((cell) => cell.sockets))) {
      const targets = await bench.startTargets();
      for (const target of targets) await bench.connect(target, { count: sockets });
      for (const cell of bench.options.sizes.fanout.filter((one) => one.sockets === sockets)) {
        await deliver(bench, recorder, targets, cell);
      }
      await bench.stopTargets(targets);
    }
  },
};

async function deliver(bench: Bench, recorder: Recorder, targets: readonly Target[], cell: FanoutCell): Promise<void> {
  const { sockets, k, events } = cell;
  const pool = Math.min(4096, Math.ceil(poolBytes / (k * 16)));
  await prepare(bench, targets, cell, pool);
  const work = ({ name }: Target, count: number): DrainWork => ({ source: name, group: name, events: count, frames: count * k });
  // Twice through the pool: the cards are hot then, and so is the code.
  for (let pass = 0; pass < 2; pass++) {
    for (const target of targets) await measureDrain(bench, target, work(target, Math.min(pool, events)));
  }

  recorder.progress(`${sockets} sockets, k = ${k}`);
  const samples = await alternate(targets, bench.options.sizes.repetitions, (target) => measureDrain(bench, target, work(target, events)));
  const each = (value: (sample: Awaited<ReturnType<typeof measureDrain>>) => number) =>
    new Map([...samples].map(([target, taken]) => [target, taken.map(value)]));
  const id = `fanout/${sockets}/${k}`;
  const rates = compare(
    recorder,
    `${id}/frames_per_s`,
    each(({ seconds }) => (events * k) / seconds),
  );
  const load = compare(
    recorder,
    `${id}/load`,
    each(({ loadCpuUs }) => loadCpuUs / (events * k)),
  );
  recorder.table({
    title: `${sockets} sockets, k = ${k}: ${events} events, ${formatNumber(events * k)} frames drained in one go`,
    columns: ['system', 'CPU-µs a frame', 'gateway : it', 'frames/s', 'load generator CPU-µs a frame'],
    rows: compare(
      recorder,
      id,
      each(({ serverCpuUs }) => serverCpuUs / (events * k)),
    ).map((row, index) => [
      row.target.name,
      formatSummary(row.summary),
      ratioCell(row),
      formatNumber(rates[index]?.summary.median ?? Number.NaN),
      formatNumber(load[index]?.summary.median ?? Number.NaN),
    ]),
  });
}

async function prepare(bench: Bench, targets: readonly Target[], cell: FanoutCell, poolEvents: number): Promise<void> {
  const { sockets, k, conversations, events } = cell;
  const workload: Workload = { seed: k, name: `group-of-${k}`, conversations, membersEach: k, firstUser: 0, users: sockets };
  for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
  for (const target of targets) await bench.prepare(target, workload, { poolEvents, maxLen: Math.ceil(events * 1.2) + poolEvents });
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { formatNumber } from '../report/format.js';
import { serverOf, type TargetName } from '../targets/target.js';
import type { Scenario } from './scenario.js';

export const idle: Scenario = {
  name: 'idle',
  about: 'Memory of connections that do nothing but stay: presence, heartbeats and everything else is on.',
  run: async (bench, recorder) => {
    const { counts, peersUpTo } = bench.options.sizes.idle;
    const rows: string[][] = [];
    const points = new Map<TargetName, [number, number][]>();
    for (const count of counts) {
      for (const name of bench.options.targets.filter((one) => one === 'gateway' || count <= peersUpTo)) {
        const bytes = await bytesPerConnection(bench, name, count);
        if (bytes === undefined) continue;
        recorder.value(`idle/${count}/${name}`, bytes);
        recorder.progress(`${name}, ${count} connections: ${formatNumber(bytes / 1024)} KB each`);
        points.set(name, [...(points.get(name) ?? []), [count, bytes / 1024]]);
        rows.push([name, formatNumber(count), formatNumber(bytes / 1024)]);
      }
    }
    recorder.table({ title: 'Resident memory per idle connection', columns: ['system', 'connections', 'KB each'], rows });
    recorder.plot({
      name: 'idle-memory',
      title: 'Resident memory per idle connection',
      x: { label: 'connections', scale: 'linear' },
      y: { label: 'KB each', scale: 'linear' },
      series: [...points].map(([name, list]) => ({ name, points: list })),
    });
  },
};

/** Undefined when that system is not here. */
async function bytesPerConnection(bench: Bench, name: TargetName, count: number): Promise<number | undefined> {
  const target = await bench.startTarget(name);
  if (target === undefined) return undefined;
  const { warmUp, settleMs } = bench.options.sizes.idle;
  // Code and caches that the first connections bring are not theirs.
  await bench.connect(target, { count: warmUp });
  await bench.generator.close(target.name);
  await sleep(settleMs / 2);
  const before = serverOf(target).residentBytes();
  await bench.connect(target, { count });
  await sleep(settleMs);
  const after = serverOf(target).residentBytes();
  await bench.stopTargets([target]);
  return (after - before) / count;
}

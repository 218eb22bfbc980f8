import type { Bench } from '../bench.js';
import { alternate } from '../measure/alternate.js';
import { type DrainSample, measureDrain } from '../measure/drain.js';
import { ratios, summarize } from '../measure/statistics.js';
import { formatNumber, formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import type { GatewayTarget } from '../targets/gateway.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

/** A replica with that many connections, of which the same first ones get events. */
interface Holding {
  readonly held: number;
  readonly target: GatewayTarget;
  readonly group: string;
}

export const growth: Scenario = {
  name: 'growth',
  about:
    'The same events for the same users on a replica that holds few connections and on one that holds ten times as many; and events ' +
    'with more and more recipients on the first one.',
  run: async (bench, recorder) => {
    const holdings: Holding[] = [];
    for (const held of bench.options.sizes.growth.held) holdings.push(await hold(bench, held));
    await byHeld(bench, recorder, holdings);
    const [few] = holdings;
    if (few !== undefined) await byK(bench, recorder, few);
    for (const { group, target } of holdings) {
      await bench.generator.close(group);
      await bench.stopTargets([target]);
    }
  },
};

async function hold(bench: Bench, held: number): Promise<Holding> {
  const target = await bench.startGateway();
  const group = `holding ${held}`;
  await bench.connect(target, { group, count: held });
  return { held, target, group };
}

async function prepare(bench: Bench, { target, group }: Holding, k: number): Promise<void> {
  const { active } = bench.options.sizes.growth;
  const workload: Workload = { seed: k, name: `growth-${k}`, conversations: 200, membersEach: k, firstUser: 0, users: active };
  for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
  await bench.publisher.prepare({
    ...{ source: group, redisPort: target.redis.port, format: target.format, workload },
    ...{ poolEvents: Math.min(4096, Math.ceil(1_000_000 / k)), maxLen: 2 * eventsOf(bench, k) },
  });
}

/** As many as make the same number of frames. */
function eventsOf({ options }: Bench, k: number): number {
  return Math.ceil(options.sizes.growth.frames / k);
}

async function drain(bench: Bench, { target, group }: Holding, k: number): Promise<DrainSample> {
  const events = eventsOf(bench, k);
  return measureDrain(bench, target, { source: group, group, events, frames: events * k });
}

async function byHeld(bench: Bench, recorder: Recorder, holdings: readonly Holding[]): Promise<void> {
  const { k, frames, active } = bench.options.sizes.growth;
  for (const holding of holdings) {
    await prepare(bench, holding, k);
    await drain(bench, holding, k);
  }
  const samples = await alternate(holdings, bench.options.sizes.repetitions, (holding) => drain(bench, holding, k));
  const each = [...samples].map(([{ held }, taken]) => ({ held, cpu: taken.map(({ serverCpuUs }) => serverCpuUs / frames) }));
  const [first] = each;
  recorder.table({
    title: `k = ${k} of the same ${formatNumber(active)} users, by connections held`,
    columns: ['connections held', 'CPU-µs a frame', 'against the first'],
    rows: each.map(({ held, cpu }) => {
      const against = recorder.figure(`growth/held/${held}/ratio`, ratios(cpu, first?.cpu ?? cpu));
      return [formatNumber(held), formatSummary(recorder.figure(`growth/held/${held}`, summarize(cpu))), formatSummary(against)];
    }),
  });
}

async function byK(bench: Bench, recorder: Recorder, holding: Holding): Promise<void> {
  const points: [number, number][] = [];
  const rows = [];
  for (const k of bench.options.sizes.growth.ks) {
    await prepare(bench, holding, k);
    await drain(bench, holding, k);
    const events = eventsOf(bench, k);
    const samples = [];
    for (let repetition = 0; repetition < bench.options.sizes.repetitions; repetition++) {
      samples.push((await drain(bench, holding, k)).serverCpuUs / events);
    }
    const cost = recorder.figure(`growth/k/${k}`, summarize(samples));
    points.push([k, cost.median]);
    rows.push([String(k), formatSummary(cost), formatNumber(cost.median / k)]);
  }
  recorder.table({ title: 'By recipients who are here', columns: ['k', 'CPU-µs an event', 'CPU-µs a frame'], rows });
  recorder.plot({
    name: 'growth-k',
    title: 'Cost of an event by its local recipients',
    x: { label: 'k', scale: 'log' },
    y: { label: 'CPU-µs an event', scale: 'log' },
    series: [{ name: 'gateway', points }],
  });
}

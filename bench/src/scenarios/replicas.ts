import type { Bench } from '../bench.js';
import { measureDrain } from '../measure/drain.js';
import { summarize } from '../measure/statistics.js';
import { formatNumber, formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import type { GatewayTarget } from '../targets/gateway.js';
import { firstAbsentUser, userId } from '../workload/user-id.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

export const replicas: Scenario = {
  name: 'replicas',
  about:
    'The same events read by 1, 2, 4 and 8 replicas from one Redis. More replicas than cores take turns, so only CPU per unit counts ' +
    'here, and latency only for up to two.',
  run: async (bench, recorder) => {
    const rows: string[][] = [];
    const points: [number, number][] = [];
    for (const count of bench.options.sizes.replicas.counts) {
      const target = await bench.startGateway({ replicas: count });
      const row = await measureFleet(bench, recorder, target, count);
      points.push([count, row.redisUs]);
      rows.push(row.cells);
      await bench.stopTargets([target]);
    }
    recorder.table({
      title: 'Events for 2 users who are elsewhere, drained by all replicas at once; live 1,000 events/s to 20 sockets on all of them',
      columns: ['replicas', 'CPU-µs an event and replica', 'Redis CPU-µs an event and replica', 'live p50 ms', 'live p99 ms'],
      rows,
    });
    recorder.plot({
      name: 'replicas-redis',
      title: 'Redis CPU an event and replica',
      x: { label: 'replicas', scale: 'log', ticks: bench.options.sizes.replicas.counts.map((at) => ({ at, text: String(at) })) },
      y: { label: 'CPU-µs', scale: 'linear' },
      series: [{ name: 'gateway', points }],
    });
  },
};

async function measureFleet(
  bench: Bench,
  recorder: Recorder,
  target: GatewayTarget,
  count: number,
): Promise<{ readonly redisUs: number; readonly cells: string[] }> {
  const { events, usersEach } = bench.options.sizes.replicas;
  for (let server = 0; server < count; server++) await bench.connect(target, { from: server * usersEach, count: usersEach, server });
  const watchers = Array.from({ length: count }, (_, server) => userId(server * usersEach));
  const workload = { seed: 7, name: 'elsewhere', conversations: 2000, membersEach: 2, firstUser: firstAbsentUser, users: 100_000 };
  await bench.prepare(target, workload, { maxLen: events * 2 });
  const work = { source: target.name, group: target.name, events, thenTo: watchers, frames: count };
  await measureDrain(bench, target, { ...work, events: Math.ceil(events / 4) });
  const samples = [];
  for (let repetition = 0; repetition < bench.options.sizes.repetitions; repetition++)
    samples.push(await measureDrain(bench, target, work));
  const each = (us: number): number => us / events / count;
  const own = recorder.figure(`replicas/${count}/replica`, summarize(samples.map(({ serverCpuUs }) => each(serverCpuUs))));
  const redis = recorder.figure(`replicas/${count}/redis`, summarize(samples.map(({ redisCpuUs }) => each(redisCpuUs))));
  const live = count <= 2 ? await liveLatency(bench, recorder, target, count) : ['', ''];
  recorder.progress(`${count} replicas: ${formatNumber(own.median)} each, Redis ${formatNumber(redis.median)}`);
  return { redisUs: redis.median, cells: [String(count), formatSummary(own), formatSummary(redis), ...live] };
}

/** Recipients are spread over all replicas. */
async function liveLatency(bench: Bench, recorder: Recorder, target: GatewayTarget, count: number): Promise<string[]> {
  const { usersEach, liveMs, k, eventsPerS } = bench.options.sizes.replicas;
  const workload: Workload = { seed: k, name: 'spread', conversations: 200, membersEach: k, firstUser: 0, users: usersEach * count };
  for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
  await bench.prepare(target, workload);
  for (const durationMs of [liveMs / 2, liveMs]) {
    await bench.generator.reset(target.name, { measuresLatency: true });
    const { events } = await bench.publisher.paced({ source: target.name, eventsPerS, durationMs, seed: durationMs });
    await bench.generator.untilFrames(target.name, events * k);
  }
  const histogram = await bench.generator.latencies(target.name);
  return [50, 99].map((percentile) => {
    const ms = histogram.getValueAtPercentile(percentile) / 1000;
    recorder.value(`replicas/${count}/p${percentile}_ms`, ms);
    return formatNumber(ms);
  });
}

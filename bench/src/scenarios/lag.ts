import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { groupLag } from '../measure/group-lag.js';
import { summarize } from '../measure/statistics.js';
import { formatNumber } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import type { GatewayTarget } from '../targets/gateway.js';
import { serverOf } from '../targets/target.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

interface Moment {
  readonly seconds: number;
  readonly entries: number;
}

export const lag: Scenario = {
  name: 'lag',
  about:
    'A thousand connections, events in the background, and the consumer group’s lag all the while: a calm stretch, a burst, a calm one ' +
    'in which the replica is stopped for a moment, as by a pause of the machine.',
  run: async (bench, recorder) => {
    const { sockets, calmEventsPerS, burstEventsPerS, calmMs, burstMs, pauseMs } = bench.options.sizes.lag;
    const target = await bench.startGateway();
    await bench.connect(target, { count: sockets });
    await prepare(bench, target);
    const moments: Moment[] = [];
    const stopSampling = sample(target, moments);
    const phases = [
      { phase: 'calm', ...(await publish(bench, target, calmEventsPerS, calmMs)) },
      { phase: 'burst', ...(await publish(bench, target, burstEventsPerS, burstMs)) },
      { phase: `calm, with a stop of ${pauseMs} ms`, ...(await publishOverPause(bench, target)) },
    ];
    await stopSampling();
    await bench.stopTargets([target]);
    report(recorder, phases, moments);
  },
};

interface Phase {
  readonly eventsPerS: number;
  readonly fromS: number;
  readonly untilS: number;
}

async function prepare(bench: Bench, target: GatewayTarget): Promise<void> {
  const { sockets, k } = bench.options.sizes.lag;
  const workload: Workload = { seed: k, name: 'background', conversations: 200, membersEach: k, firstUser: 0, users: sockets };
  for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
  await bench.prepare(target, workload);
}

/** Until the returned function is called. */
function sample(target: GatewayTarget, moments: Moment[]): () => Promise<void> {
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      const entries = await groupLag(target);
      if (entries !== undefined) moments.push({ seconds: performance.now() / 1000, entries });
      await sleep(100);
    }
  })();
  return () => {
    isOver = true;
    return sampling;
  };
}

async function publish(
  { generator, publisher, options }: Bench,
  { name }: GatewayTarget,
  eventsPerS: number,
  durationMs: number,
): Promise<Phase> {
  const fromS = performance.now() / 1000;
  await generator.reset(name);
  const { events } = await publisher.paced({ source: name, eventsPerS, durationMs, seed: eventsPerS });
  await generator.untilFrames(name, events * options.sizes.lag.k);
  return { eventsPerS, fromS, untilS: performance.now() / 1000 };
}

async function publishOverPause(bench: Bench, target: GatewayTarget): Promise<Phase> {
  const { calmEventsPerS, calmMs, pauseMs } = bench.options.sizes.lag;
  const publishing = publish(bench, target, calmEventsPerS, calmMs);
  await sleep(calmMs / 4);
  await serverOf(target).pause();
  await sleep(pauseMs);
  serverOf(target).resume();
  return publishing;
}

function report(recorder: Recorder, phases: readonly (Phase & { readonly phase: string })[], moments: readonly Moment[]): void {
  const startS = phases[0]?.fromS ?? 0;
  recorder.table({
    title: 'Entries that the group has not handled yet, sampled ten times a second',
    columns: ['phase', 'events/s', 'median', 'most'],
    rows: phases.map(({ phase, eventsPerS, fromS, untilS }) => {
      const seen = moments.filter(({ seconds }) => seconds >= fromS && seconds <= untilS).map(({ entries }) => entries);
      const { median, max } = recorder.figure(`lag/${phase}`, summarize(seen.length === 0 ? [Number.NaN] : seen));
      return [phase, ...[eventsPerS, median, max].map(formatNumber)];
    }),
  });
  recorder.plot({
    name: 'lag',
    title: 'The group’s lag over time',
    x: { label: 's', scale: 'linear' },
    y: { label: 'entries not handled yet', scale: 'linear' },
    series: [{ name: 'gateway', points: moments.map(({ seconds, entries }) => [seconds - startS, entries] as const) }],
  });
}

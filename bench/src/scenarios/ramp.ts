import type { Bench } from '../bench.js';
import { monotonicUs } from '../host/monotonic-clock.js';
import { alternate } from '../measure/alternate.js';
import { compare, ratioCell } from '../measure/compare.js';
import { groupLag } from '../measure/group-lag.js';
import { formatNumber, formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import type { Target } from '../targets/target.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

interface Step {
  readonly eventsPerS: number;
  /** Delivered in the time that the step took. */
  readonly framesPerS: number;
  /** Events that were published and not delivered when the last one had been published. */
  readonly behind: number;
  /** The same as the consumer group says it; undefined where there is none. */
  readonly groupLag: number | undefined;
  readonly isSustained: boolean;
}

/** A system keeps up if at the end of a step it is behind by less than what comes in this time. */
const toleratedS = 0.25;

export const ramp: Scenario = {
  name: 'ramp',
  about: 'Live load that grows until a system no longer keeps up: until its lag at the end of a step is more than 250 ms of events.',
  run: async (bench, recorder) => {
    const { sockets, k, conversations } = bench.options.sizes.ramp;
    const targets = await bench.startTargets();
    const workload: Workload = { seed: k, name: `ramp-of-${k}`, conversations, membersEach: k, firstUser: 0, users: sockets };
    for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
    for (const target of targets) {
      await bench.connect(target, { count: sockets });
      await bench.prepare(target, workload);
      await step(bench, target, bench.options.sizes.ramp.fromEventsPerS, 0);
    }
    const samples = await alternate(targets, bench.options.sizes.ramp.repetitions, (target, repetition) =>
      climb(bench, recorder, target, repetition),
    );
    report(recorder, k, samples);
    await bench.stopTargets(targets);
  },
};

/** Up by the same factor until it is too much, then halfway back in steps that halve. */
async function climb(bench: Bench, recorder: Recorder, target: Target, repetition: number): Promise<Step[]> {
  const { fromEventsPerS, factor, refinements, mostEventsPerS } = bench.options.sizes.ramp;
  const steps: Step[] = [];
  const take = async (eventsPerS: number): Promise<Step> => {
    const taken = await step(bench, target, Math.round(eventsPerS), repetition);
    steps.push(taken);
    recorder.progress(`${target.name}: ${formatNumber(taken.framesPerS)} frames/s, ${taken.behind} events behind at the end`);
    return taken;
  };
  let eventsPerS = fromEventsPerS;
  while ((await take(eventsPerS)).isSustained && eventsPerS < mostEventsPerS) eventsPerS *= factor;
  let stride = eventsPerS - eventsPerS / factor;
  for (let left = refinements; left > 0; left--) {
    stride /= 2;
    eventsPerS += steps.at(-1)?.isSustained === true ? stride : -stride;
    await take(eventsPerS);
  }
  return steps;
}

async function step({ generator, publisher, options }: Bench, target: Target, eventsPerS: number, seed: number): Promise<Step> {
  const { k, stepMs } = options.sizes.ramp;
  await generator.reset(target.name);
  const startUs = monotonicUs();
  const { events } = await publisher.paced({ source: target.name, eventsPerS, durationMs: stepMs, seed });
  const [{ frames }, lag] = await Promise.all([generator.counts(target.name), groupLag(target)]);
  const seconds = (monotonicUs() - startUs) / 1_000_000;
  await generator.untilFrames(target.name, events * k, 120_000);
  const behind = Math.round(events - frames / k);
  return { eventsPerS, framesPerS: frames / seconds, behind, groupLag: lag, isSustained: behind < eventsPerS * toleratedS };
}

function report(recorder: Recorder, k: number, samples: ReadonlyMap<Target, readonly Step[][]>): void {
  const best = new Map([...samples].map(([target, climbs]) => [target, climbs.map(bestRate)]));
  const rates = compare(recorder, `ramp/${k}`, best);
  recorder.table({
    title: `Most frames/s that were sustained live, k = ${k}`,
    columns: ['system', 'frames/s', 'gateway : it'],
    rows: rates.map((row) => [row.target.name, formatSummary(row.summary), ratioCell(row)]),
  });
  recorder.plot({
    name: `ramp-${k}`,
    title: `How far behind at the end of a step, k = ${k}`,
    x: { label: 'frames/s offered', scale: 'log' },
    y: { label: 'ms of events behind', scale: 'log' },
    series: [...samples].map(([{ name }, climbs]) => ({
      name,
      points: climbs
        .flat()
        .map(({ eventsPerS, behind }) => [eventsPerS * k, Math.max(0.1, (1000 * behind) / eventsPerS)] as const)
        .sort(([one], [other]) => one - other),
    })),
  });
  const lags = [...samples].flatMap(([target, climbs]) => climbs.flat().map((taken) => ({ target, ...taken })));
  recorder.table({
    title: 'The consumer group’s lag at the end of every step of the gateway',
    columns: ['events/s', 'frames/s', 'events behind', 'group lag', 'sustained'],
    rows: lags
      .filter(({ groupLag: lag }) => lag !== undefined)
      .map((row) => [
        ...[row.eventsPerS, row.framesPerS, row.behind, row.groupLag ?? Number.NaN].map(formatNumber),
        row.isSustained ? 'yes' : 'no',
      ]),
  });
}

function bestRate(steps: readonly Step[]): number {
  return Math.max(0, ...steps.filter(({ isSustained }) => isSustained).map(({ framesPerS }) => framesPerS));
}

import type { Bench } from '../bench.js';
import { alternate } from '../measure/alternate.js';
import { compare, ratioCell } from '../measure/compare.js';
import { measureDrain } from '../measure/drain.js';
import { formatSummary } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import { serversCpuUs, type Target } from '../targets/target.js';
import { firstAbsentUser, userId } from '../workload/user-id.js';
import type { Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

/** The user whose event comes after all the others and says that they have been read. */
const watcher = userId(0);

function eventsForNobody(recipients: number): Workload {
  const members = { firstUser: firstAbsentUser, users: 100_000 };
  return { seed: 7, name: `elsewhere-${recipients}`, conversations: 2000, membersEach: recipients, ...members };
}

export const skip: Scenario = {
  name: 'skip',
  about: 'Events that concern nobody on the replica: what every replica pays for every event of the whole fleet.',
  run: async (bench, recorder) => {
    const targets = await bench.startTargets({ without: ['centrifugo'] });
    recorder.note('Centrifugo takes no part: its nodes share the entries out among themselves, so none of them skips any.');
    for (const target of targets) await bench.connect(target, { count: bench.options.sizes.skip.held });
    for (const recipients of [2, 20]) await drained(bench, recorder, targets, recipients);
    await live(bench, recorder, targets);
    await bench.stopTargets(targets);
  },
};

async function drained(bench: Bench, recorder: Recorder, targets: readonly Target[], recipients: number): Promise<void> {
  const events = bench.options.sizes.skip.drained;
  for (const target of targets) await bench.prepare(target, eventsForNobody(recipients), { maxLen: Math.ceil(events * 1.2) });
  const measure = ({ name }: Target, count: number) => ({ source: name, group: name, events: count, thenTo: [watcher], frames: 1 });
  for (const target of targets) await measureDrain(bench, target, measure(target, Math.ceil(events / 4)));

  recorder.progress(`${recipients} recipients`);
  const samples = await alternate(targets, bench.options.sizes.repetitions, (target) =>
    measureDrain(bench, target, measure(target, events)),
  );
  const cpu = new Map([...samples].map(([target, taken]) => [target, taken.map(({ serverCpuUs }) => serverCpuUs / events)]));
  const redis = new Map([...samples].map(([target, taken]) => [target, taken.map(({ redisCpuUs }) => redisCpuUs / events)]));
  const inRedis = compare(recorder, `skip/${recipients}/redis`, redis);
  recorder.table({
    title: `An event for ${recipients} users who are elsewhere, ${events} drained in one go`,
    columns: ['system', 'CPU-µs an event', 'gateway : it', 'Redis CPU-µs an event'],
    rows: compare(recorder, `skip/${recipients}`, cpu).map((row, index) => {
      const redisCell = inRedis[index] === undefined ? '' : formatSummary(inRedis[index].summary);
      return [row.target.name, formatSummary(row.summary), ratioCell(row), redisCell];
    }),
  });
}

async function live(bench: Bench, recorder: Recorder, targets: readonly Target[]): Promise<void> {
  const { liveEventsPerS, liveMs } = bench.options.sizes.skip;
  for (const target of targets) await bench.prepare(target, eventsForNobody(2));
  recorder.progress(`live, ${liveEventsPerS} events/s`);
  const samples = await alternate(targets, bench.options.sizes.repetitions, async (target, repetition) => {
    const before = serversCpuUs(target);
    const { events } = await bench.publisher.paced({
      source: target.name,
      eventsPerS: liveEventsPerS,
      durationMs: liveMs,
      seed: repetition,
    });
    return (serversCpuUs(target) - before) / events;
  });
  recorder.table({
    title: `The same live, ${liveEventsPerS} events/s for 2 users who are elsewhere`,
    columns: ['system', 'CPU-µs an event', 'gateway : it'],
    rows: compare(recorder, 'skip/live', samples).map((row) => [row.target.name, formatSummary(row.summary), ratioCell(row)]),
  });
}

import { parseArgs } from 'node:util';
import { runSchedule } from './run-schedule.js';
import { describeSchedule, planSchedule, type Schedule, type Variant } from './schedule.js';
import { describeVerdict } from './verdict.js';

const usage = `npm run chaos -- [--seeds N] [--seed S] [--variant single|sentinel]

Plays N (1) schedules of faults, of the seeds S (1), S + 1, …, each on a fleet of its own, and prints what came of it.
The seed of a run that failed, and its variant, play the same schedule again.`;

function readArguments(): { seeds: readonly number[]; variant: Variant } {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      variant: { type: 'string', default: 'single' },
    },
  });
  const [count, first] = [Number(values.seeds), Number(values.seed)];
  const { variant } = values;
  if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(first) || first < 0) throw new Error(usage);
  if (variant !== 'single' && variant !== 'sentinel') throw new Error(usage);
  return { seeds: Array.from({ length: count }, (_, index) => first + index), variant };
}

async function holds(schedule: Schedule): Promise<boolean> {
  try {
    const verdict = await runSchedule(schedule);
    for (const line of describeVerdict(verdict)) console.log(line);
    return verdict.complaints.length === 0;
  } catch (error) {
    console.log(`seed ${schedule.seed} (${schedule.variant}) could not be played: ${String(error)}`);
    return false;
  }
}

async function main(): Promise<void> {
  const { seeds, variant } = readArguments();
  const failed: number[] = [];
  for (const seed of seeds) {
    const schedule = planSchedule(seed, variant);
    for (const line of [`seed ${seed}, ${schedule.durationMs / 1000} s:`, ...describeSchedule(schedule)]) console.log(line);
    if (!(await holds(schedule))) failed.push(seed);
  }
  console.log(failed.length === 0 ? `all ${seeds.length} held` : `${failed.length} of ${seeds.length} failed: seeds ${failed.join(', ')}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}

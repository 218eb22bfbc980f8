import { expect, test } from 'vitest';
import { runSchedule } from '../../src/chaos/run-schedule.js';
import { describeSchedule, planSchedule, type Variant } from '../../src/chaos/schedule.js';
import { describeVerdict } from '../../src/chaos/verdict.js';

/** One with failovers, and one (the fifth) in which nobody may be told of a loss. `npm run chaos` plays more. */
const runs: readonly (readonly [number, Variant])[] = [
  [1, 'single'],
  [2, 'single'],
  [3, 'single'],
  [5, 'single'],
  [1, 'sentinel'],
];

test.each(runs)(
  'seed %d (%s): every message once and in order, every hole announced',
  async (seed, variant) => {
    const schedule = planSchedule(seed, variant);
    const verdict = await runSchedule(schedule);
    expect(verdict.complaints, [...describeSchedule(schedule), ...describeVerdict(verdict)].join('\n')).toEqual([]);
  },
  180_000,
);

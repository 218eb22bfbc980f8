import { parseArgs } from 'node:util';
import type { BenchOptions } from './bench-options.js';
import { scenarioNames } from './scenarios/scenarios.js';
import { fullSizes, smokeSizes } from './sizes.js';
import { targetNames } from './targets/target.js';

export const usage = `npm run bench -- [options]
  --smoke              tiny numbers: shows that everything works, measures nothing
  --only a,b           these scenarios: ${scenarioNames.join(', ')}
  --targets a,b        these systems: ${targetNames.join(', ')}
  --repetitions n      of every measurement; the default is ${fullSizes.repetitions}
  --cpu-prof dir       every replica of the gateway writes a CPU profile into this folder, and its hottest functions are printed`;

/** @throws with one sentence for whoever typed it */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      smoke: { type: 'boolean', default: false },
      only: { type: 'string' },
      targets: { type: 'string' },
      repetitions: { type: 'string' },
      'cpu-prof': { type: 'string' },
    },
  });
  const sizes = values.smoke ? smokeSizes : fullSizes;
  return {
    scenarios: chosen('scenario', values.only, scenarioNames),
    targets: chosen('system', values.targets, targetNames),
    sizes: values.repetitions === undefined ? sizes : { ...sizes, repetitions: positive(values.repetitions) },
    isSmoke: values.smoke,
    loadProcesses: 2,
    profileDir: values['cpu-prof'],
  };
}

function chosen<T extends string>(what: string, list: string | undefined, known: readonly T[]): readonly T[] {
  if (list === undefined) return known;
  const wanted = list.split(',');
  const unknown = wanted.filter((name) => !known.some((one) => one === name));
  if (unknown.length > 0) throw new Error(`no such ${what}: ${unknown.join(', ')}; there are ${known.join(', ')}`);
  return known.filter((name) => wanted.includes(name));
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`not a number of repetitions: ${text}`);
  return value;
}

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { BenchOptions } from './bench-options.js';
import { scenarioNames } from './scenarios/scenarios.js';
import { fullSizes, scaleSizes, type Sizes, smokeSizes } from './sizes.js';
import { targetNames } from './targets/target.js';

export const usage = `npm run bench -- [options]
  --smoke              tiny numbers: shows that everything works, measures nothing
  --only a,b           these scenarios: ${scenarioNames.join(', ')}
  --targets a,b        these systems: ${targetNames.join(', ')}
  --repetitions n      of every measurement; the default is ${fullSizes.repetitions}
  --scale x            so much of the events and the time, e.g. 0.2 for a quick look at a change
  --sockets n          of the fan-out, only the cells with that many
  --results dir        where the results are kept; a whole run keeps them in bench/results, any other one nowhere
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
      scale: { type: 'string' },
      sockets: { type: 'string' },
      results: { type: 'string' },
      'cpu-prof': { type: 'string' },
    },
  });
  return {
    scenarios: chosen('scenario', values.only, scenarioNames),
    targets: chosen('system', values.targets, targetNames),
    sizes: chosenSizes(values.smoke ? smokeSizes : fullSizes, values),
    isSmoke: values.smoke,
    resultsDir: values.results === undefined ? keptDir(values) : resolve(values.results),
    loadProcesses: 2,
    profileDir: values['cpu-prof'] === undefined ? undefined : resolve(values['cpu-prof']),
  };
}

/** Only what was measured in full, and all of it at once, replaces the results that are kept. */
function keptDir({ smoke, ...narrowed }: { readonly smoke: boolean; readonly [option: string]: unknown }): string | undefined {
  const isWhole = !smoke && Object.values(narrowed).every((value) => value === undefined);
  return isWhole ? fileURLToPath(new URL('../results', import.meta.url)) : undefined;
}

function chosen<T extends string>(what: string, list: string | undefined, known: readonly T[]): readonly T[] {
  if (list === undefined) return known;
  const wanted = list.split(',');
  const unknown = wanted.filter((name) => !known.some((one) => one === name));
  if (unknown.length > 0) throw new Error(`no such ${what}: ${unknown.join(', ')}; there are ${known.join(', ')}`);
  return known.filter((name) => wanted.includes(name));
}

interface SizeChoices {
  readonly repetitions?: string | undefined;
  readonly scale?: string | undefined;
  readonly sockets?: string | undefined;
}

function chosenSizes(sizes: Sizes, { repetitions, scale, sockets }: SizeChoices): Sizes {
  const scaled = scale === undefined ? sizes : scaleSizes(sizes, positive(scale));
  return {
    ...scaled,
    ...(repetitions === undefined ? {} : { repetitions: Math.ceil(positive(repetitions)) }),
    ...(sockets === undefined ? {} : { fanout: scaled.fanout.filter((cell) => cell.sockets === positive(sockets)) }),
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`not a positive number: ${text}`);
  return value;
}

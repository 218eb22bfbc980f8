import type { CpuProfile } from './decode-profile.js';

export interface HotFunction {
  /** E.g. `matchRecipients hub/match-recipients.js:31`. */
  readonly name: string;
  readonly selfMs: number;
  /** Of the time in which the process did anything. */
  readonly share: number;
}

/** The functions that took most time themselves, what they called not included; waiting is left out. */
export function hottestFunctions({ nodes, samples, timeDeltas }: CpuProfile, count: number): HotFunction[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const selfUs = new Map<string, number>();
  samples.forEach((id, index) => {
    const name = names.get(id) ?? 'unknown';
    if (name !== '(idle)') selfUs.set(name, (selfUs.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  });
  const totalUs = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
  return [...selfUs]
    .sort(([, one], [, other]) => other - one)
    .slice(0, count)
    .map(([name, us]) => ({ name, selfMs: us / 1000, share: us / totalUs }));
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const place = url.replace(/^.*\/(?:dist|node_modules(?=\/(?!.*\/node_modules\/)))\//, '');
  return `${name} ${place}:${lineNumber + 1}`;
}

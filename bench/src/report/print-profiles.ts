import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { decodeProfile } from './decode-profile.js';
import { formatNumber, formatTable } from './format.js';
import { hottestFunctions } from './hottest-functions.js';

const shownFunctions = 30;

/** Prints the hottest functions of every profile in a folder that is not among `known`. */
export function printProfiles(dir: string, known: ReadonlySet<string>): void {
  for (const file of profilesIn(dir).filter((name) => !known.has(name))) {
    const rows = hottestFunctions(decodeProfile(join(dir, file)), shownFunctions).map(({ name, selfMs, share }) => [
      `${(100 * share).toFixed(1)} %`,
      formatNumber(selfMs),
      name,
    ]);
    console.log(`\n${join(dir, file)}\n${formatTable(['self', 'ms', 'function'], rows)}`);
  }
}

export function profilesIn(dir: string): string[] {
  return readdirSync(dir).filter((name) => name.endsWith('.cpuprofile'));
}

import { mkdirSync } from 'node:fs';
import { Bench } from './bench.js';
import { readOptions, usage } from './options.js';
import { printProfiles, profilesIn } from './report/print-profiles.js';
import { Recorder } from './report/recorder.js';
import type { ScenarioResult } from './report/result.js';
import { scenarios } from './scenarios/scenarios.js';

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const profilesBefore = prepareProfiles(options.profileDir);
  const bench = await Bench.start(options);
  const results: ScenarioResult[] = [];
  try {
    for (const scenario of scenarios.filter(({ name }) => options.scenarios.includes(name))) {
      console.log(`\n── ${scenario.name}: ${scenario.about}`);
      const recorder = new Recorder();
      const startMs = performance.now();
      await scenario.run(bench, recorder);
      results.push(recorder.result(scenario.name, scenario.about, Math.round((performance.now() - startMs) / 1000)));
    }
  } finally {
    await bench.stop();
  }
  if (options.profileDir !== undefined) printProfiles(options.profileDir, profilesBefore);
}

function prepareProfiles(dir: string | undefined): ReadonlySet<string> {
  if (dir === undefined) return new Set();
  mkdirSync(dir, { recursive: true });
  return new Set(profilesIn(dir));
}

if (process.argv.includes('--help')) console.log(usage);
else await main();

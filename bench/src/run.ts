import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench } from './bench.js';
import type { BenchOptions } from './bench-options.js';
import { machineFacts } from './host/machine-facts.js';
import { readOptions, usage } from './options.js';
import { printProfiles, profilesIn } from './report/print-profiles.js';
import { Recorder } from './report/recorder.js';
import type { RunResult, ScenarioResult } from './report/result.js';
import { printTargets } from './report/print-targets.js';
import { writeResults } from './report/write-results.js';
import type { Scenario } from './scenarios/scenario.js';
import { scenarioNames, scenarios } from './scenarios/scenarios.js';

/** A scenario that fails costs the others nothing but the exit code. */
async function measure(options: BenchOptions): Promise<ScenarioResult[]> {
  const bench = await Bench.start(options);
  const results: ScenarioResult[] = [];
  try {
    for (const scenario of scenarios.filter(({ name }) => options.scenarios.includes(name))) {
      results.push(...(await runScenario(bench, scenario)));
    }
  } finally {
    await bench.stop();
  }
  return results;
}

async function runScenario(bench: Bench, scenario: Scenario): Promise<ScenarioResult[]> {
  const { name, about } = scenario;
  console.log(`\n── ${name}: ${about}`);
  const recorder = new Recorder();
  try {
    await scenario.run(bench, recorder);
    return [recorder.result(name, about)];
  } catch (error) {
    console.error(`${name} failed:`, error);
    process.exitCode = 1;
    await bench.clear();
    return [];
  }
}

/** A smoke run writes everything too, to see that it can, and throws it away. */
function keep(run: RunResult, { resultsDir, isSmoke }: BenchOptions): void {
  if (resultsDir !== undefined) writeResults(resultsDir, run, scenarioNames);
  else if (isSmoke) {
    const dir = mkdtempSync(join(tmpdir(), 'bench-smoke-'));
    writeResults(dir, run, scenarioNames);
    rmSync(dir, { recursive: true });
  }
}

function profilesBefore({ profileDir }: BenchOptions): ReadonlySet<string> {
  if (profileDir === undefined) return new Set();
  mkdirSync(profileDir, { recursive: true });
  return new Set(profilesIn(profileDir));
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const known = profilesBefore(options);
  const machine = machineFacts();
  const run = { machine, scenarios: await measure(options) };
  keep(run, options);
  if (!options.isSmoke) printTargets(run.scenarios);
  if (options.profileDir !== undefined) printProfiles(options.profileDir, known);
}

if (process.argv.includes('--help')) console.log(usage);
else await main();

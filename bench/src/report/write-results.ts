import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeResults } from './decode-results.js';
import { markdownReport } from './markdown.js';
import type { RunResult } from './result.js';
import { lineChart } from './svg/line-chart.js';

/**
 * Writes results.json, report.md and the plots. Scenarios that this run left out stay as an earlier one has written them, each with
 * its own time.
 * @param order names of all scenarios
 */
export function writeResults(dir: string, run: RunResult, order: readonly string[]): void {
  mkdirSync(dir, { recursive: true });
  const path = join(dir, 'results.json');
  const earlier = decodeResults(path)?.scenarios ?? [];
  const known = new Map([...earlier, ...run.scenarios].map((scenario) => [scenario.name, scenario]));
  const scenarios = order.flatMap((name) => known.get(name) ?? []);
  const whole = { ...run, scenarios };
  writeFileSync(path, `${JSON.stringify(whole, undefined, 1)}\n`);
  writeFileSync(join(dir, 'report.md'), `${markdownReport(whole)}\n`);
  for (const plot of scenarios.flatMap(({ plots }) => plots)) writeFileSync(join(dir, `${plot.name}.svg`), lineChart(plot));
}

import { formatTable } from './format.js';
import type { ScenarioResult } from './result.js';
import { targetRows } from './targets.js';

/** Those targets of which this run has measured anything. */
export function printTargets(results: readonly ScenarioResult[]): void {
  const rows = targetRows(results).filter(({ verdict }) => verdict !== 'not measured');
  if (rows.length === 0) return;
  const cells = rows.map(({ figure, target, measured, verdict }) => [figure, target, measured, verdict]);
  console.log(`\n${formatTable(['figure', 'target', 'measured', ''], cells)}`);
}

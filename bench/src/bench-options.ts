import type { Sizes } from './sizes.js';
import type { TargetName } from './targets/target.js';

export interface BenchOptions {
  readonly scenarios: readonly string[];
  readonly targets: readonly TargetName[];
  readonly sizes: Sizes;
  readonly isSmoke: boolean;
  readonly loadProcesses: number;
  readonly profileDir: string | undefined;
  /** Where results, report and plots are kept; undefined: nowhere. */
  readonly resultsDir: string | undefined;
}

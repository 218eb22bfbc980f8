import type { Bench } from '../bench.js';
import type { Recorder } from '../report/recorder.js';

export interface Scenario {
  readonly name: string;
  /** One or two sentences for the report. */
  readonly about: string;
  run(bench: Bench, recorder: Recorder): Promise<void>;
}

import type { MachineFacts } from '../host/machine-facts.js';
import type { Summary } from '../measure/statistics.js';

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Plot {
  /** File name without its ending. */
  readonly name: string;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

export interface Axis {
  readonly label: string;
  readonly scale: 'linear' | 'log';
  /** Written at these places instead of at round numbers. */
  readonly ticks?: readonly { readonly at: number; readonly text: string }[];
}

/** What one scenario has found out, as it goes into results.json. */
export interface ScenarioResult {
  readonly name: string;
  readonly about: string;
  /** ISO 8601. */
  readonly measuredAt: string;
  readonly tookS: number;
  /** By id, e.g. `fanout/1000/20/gateway`; units are in the tables. */
  readonly figures: Readonly<Record<string, Summary>>;
  readonly tables: readonly Table[];
  readonly plots: readonly Plot[];
  readonly notes: readonly string[];
}

export interface RunResult {
  readonly machine: MachineFacts;
  readonly scenarios: readonly ScenarioResult[];
}

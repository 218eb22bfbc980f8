import { type Summary, summarize } from '../measure/statistics.js';
import { formatTable } from './format.js';
import type { Plot, ScenarioResult, Table } from './result.js';

/** Takes down what a scenario finds out, and says it on the console as it comes. */
export class Recorder {
  readonly #startedAt = new Date();
  readonly #startMs = performance.now();
  readonly #figures = new Map<string, Summary>();
  readonly #tables: Table[] = [];
  readonly #plots: Plot[] = [];
  readonly #notes: string[] = [];

  figure(id: string, summary: Summary): Summary {
    this.#figures.set(id, summary);
    return summary;
  }

  /** A figure that was taken once. */
  value(id: string, value: number): Summary {
    return this.figure(id, summarize([value]));
  }

  table(table: Table): void {
    this.#tables.push(table);
    console.log(`\n${table.title}\n${formatTable(table.columns, table.rows)}`);
  }

  plot(plot: Plot): void {
    this.#plots.push(plot);
  }

  note(text: string): void {
    this.#notes.push(text);
    console.log(text);
  }

  /** Where it has got to; not part of the result. */
  progress(text: string): void {
    console.log(`  … ${text}`);
  }

  result(name: string, about: string): ScenarioResult {
    const tookS = Math.round((performance.now() - this.#startMs) / 1000);
    return {
      name,
      about,
      measuredAt: this.#startedAt.toISOString(),
      tookS,
      figures: Object.fromEntries(this.#figures),
      tables: this.#tables,
      plots: this.#plots,
      notes: this.#notes,
    };
  }
}

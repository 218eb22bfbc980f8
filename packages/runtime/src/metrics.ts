import { collectDefaultMetrics, Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from 'prom-client';
import { countOpenFds } from './open-fds.js';

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(count?: number, labels?: Labels): void;
}

/** Not on the page until it has been set: "unknown" is not 0. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
  /** Every series of it disappears from the page. */
  clear(): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

export interface SeriesOptions {
  /** Label → its closed set of values; each combination of a counter with one label is on the page from the start, as 0. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
}

const openFds = 'process_open_fds';

/** The process's metric registry and the only door to the metrics library. Base units: seconds, bytes. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #onScrape: (() => void | Promise<void>)[] = [];

  readonly contentType = this.#registry.contentType;

  /** Adds the usual process metrics: CPU, memory, file descriptors, event-loop lag. */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry });
    // The library's own reads a folder synchronously: 10 ms of everybody's time a scrape where there are ten thousand sockets.
    if (this.#registry.getSingleMetric(openFds) === undefined) return;
    this.#registry.removeSingleMetric(openFds);
    const gauge = this.gauge(openFds, 'Number of open file descriptors.');
    this.onScrape(async () => {
      const count = await countOpenFds();
      if (count === undefined) gauge.clear();
      else gauge.set(count);
    });
  }

  counter(name: string, help: string, { labels = {} }: SeriesOptions = {}): Counter {
    const labelNames = Object.keys(labels);
    const metric = new PromCounter({ name, help, labelNames, registers: [this.#registry] });
    for (const combination of combinations(labels)) metric.inc(combination, 0);
    return { add: (count = 1, values) => (values === undefined ? metric.inc(count) : metric.inc(values, count)) };
  }

  gauge(name: string, help: string, { labels = {} }: SeriesOptions = {}): Gauge {
    const labelNames = Object.keys(labels);
    const metric = new PromGauge({ name, help, labelNames, registers: [this.#registry] });
    // `reset` takes the series of labels away, and sets the one without labels to 0, as the library does when it makes it.
    const clear = (): void => (labelNames.length === 0 ? metric.remove({}) : metric.reset());
    clear();
    return { set: (value, values) => (values === undefined ? metric.set(value) : metric.set(values, value)), clear };
  }

  histogram(name: string, help: string, { buckets, labels = {} }: SeriesOptions & { readonly buckets: readonly number[] }): Histogram {
    const labelNames = Object.keys(labels);
    const metric = new PromHistogram({ name, help, labelNames, buckets: [...buckets], registers: [this.#registry] });
    for (const combination of combinations(labels)) metric.zero(combination);
    return { observe: (value, values) => (values === undefined ? metric.observe(value) : metric.observe(values, value)) };
  }

  /** Called before every page, for gauges that are read rather than counted. */
  onScrape(collect: () => void | Promise<void>): void {
    this.#onScrape.push(collect);
  }

  /** The page in the Prometheus text format. */
  async text(): Promise<string> {
    for (const collect of this.#onScrape) await collect();
    return this.#registry.metrics();
  }
}

function combinations(labels: Readonly<Record<string, readonly string[]>>): Record<string, string>[] {
  let rows: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(labels)) rows = rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value })));
  return Object.keys(labels).length === 0 ? [] : rows;
}

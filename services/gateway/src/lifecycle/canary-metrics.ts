import type { Gauge, Metrics } from '@event-gateway/runtime';

/** Is it stuck. Declared with FANOUT=pubsub too, where no canary gives it a value. */
export class CanaryMetrics {
  readonly #metrics: Metrics;
  readonly #seconds: Gauge;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#seconds = metrics.gauge('gateway_canary_seconds', 'Time since a canary last came through the reader');
  }

  /** @param ageMs since a canary came last; asked at every scrape */
  watch(ageMs: () => number): void {
    this.#metrics.onScrape(() => this.#seconds.set(ageMs() / 1000));
  }
}

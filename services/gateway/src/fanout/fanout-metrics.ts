import { MALFORMED_REASONS, type MalformedReason } from '@event-gateway/protocol';
import type { Counter, Histogram, Metrics } from '@event-gateway/runtime';

/** What became of an entry that was read; exactly one for each. */
export type EntryOutcome = 'delivered' | 'no_recipient' | 'malformed' | 'skipped';

const outcomes: readonly EntryOutcome[] = ['delivered', 'no_recipient', 'malformed', 'skipped'];

/** Is it slow, is it losing: the figures of walk 1. */
export class FanoutMetrics {
  readonly #entries: Counter;
  readonly #malformed: Counter;
  readonly #delivery: Histogram;
  readonly #connections: Histogram;

  constructor(metrics: Metrics) {
    this.#entries = metrics.counter('gateway_stream_entries_total', 'Entries read from the bus, by what became of them.', {
      labels: { outcome: outcomes },
    });
    this.#malformed = metrics.counter('gateway_stream_malformed_total', 'Malformed entries, by reason.', {
      labels: { reason: MALFORMED_REASONS },
    });
    this.#delivery = metrics.histogram(
      'gateway_delivery_seconds',
      'From the time of the entry in the stream to its last write to a socket.',
      {
        buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      },
    );
    this.#connections = metrics.histogram('gateway_fanout_connections', 'Connections of this replica that one event went to.', {
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000],
    });
  }

  read(outcome: EntryOutcome, count: number): void {
    if (count > 0) this.#entries.add(count, { outcome });
  }

  malformed(reason: MalformedReason): void {
    this.#malformed.add(1, { reason });
  }

  delivered(connections: number): void {
    this.#connections.observe(connections);
  }

  written(sinceStreamMs: number): void {
    this.#delivery.observe(Math.max(0, sinceStreamMs) / 1000);
  }
}

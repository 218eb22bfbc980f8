import type { Counter, Histogram, Metrics } from '@event-gateway/runtime';

/**
 * How a sync ended. `completed`: the client is whole. `partial`: more than SYNC_MAX_PAGES, the client goes on. `unavailable`: the
 * messenger did not answer. `overloaded`: the queue was full. `in_progress`: another one was running on the connection.
 * `aborted`: the connection closed.
 */
export type SyncOutcome = 'completed' | 'partial' | 'unavailable' | 'overloaded' | 'in_progress' | 'aborted';

const outcomes: readonly SyncOutcome[] = ['completed', 'partial', 'unavailable', 'overloaded', 'in_progress', 'aborted'];

export class SyncMetrics {
  readonly #syncs: Counter;
  readonly #seconds: Histogram;

  constructor(metrics: Metrics) {
    this.#syncs = metrics.counter('gateway_syncs_total', 'Syncs that clients asked for, by how they ended.', {
      labels: { outcome: outcomes },
    });
    this.#seconds = metrics.histogram('gateway_sync_seconds', 'From the request of a sync to its end, the queue included.', {
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    });
  }

  ended(outcome: SyncOutcome, ms: number): void {
    this.#syncs.add(1, { outcome });
    this.#seconds.observe(ms / 1000);
  }
}

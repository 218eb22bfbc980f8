import type { Counter, Gauge, Metrics } from '@event-gateway/runtime';

/** What made a hole in what was read, or (`group_lost`) made it necessary to begin the group anew where it was. */
export const gapCauses = ['trimmed', 'lost_writes', 'stream_reset', 'group_lost', 'pubsub'] as const;
export type GapCause = (typeof gapCauses)[number];

/** How late this replica is. */
export interface Lag {
  /** Undefined when Redis does not know. */
  readonly entries: number | undefined;
  readonly seconds: number;
  readonly pending: number;
}

/** Is it late, is it losing: the figures of the reader. */
export class StreamMetrics {
  readonly #gaps: Counter;
  readonly #lagEntries: Gauge;
  readonly #lagSeconds: Gauge;
  readonly #pending: Gauge;

  constructor(metrics: Metrics) {
    this.#gaps = metrics.counter('gateway_stream_gaps_total', 'Holes in what this replica has read, by cause', {
      labels: { reason: gapCauses },
    });
    this.#lagEntries = metrics.gauge(
      'gateway_stream_lag_entries',
      'Entries of the stream not delivered to this replica yet; absent while Redis does not know',
    );
    this.#lagSeconds = metrics.gauge(
      'gateway_stream_lag_seconds',
      'Age of the oldest entry that this replica has not handled, else 0; absent while Redis cannot be asked',
    );
    this.#pending = metrics.gauge(
      'gateway_stream_pending_entries',
      'Entries delivered to this replica and not acknowledged yet; absent while Redis cannot be asked',
    );
  }

  gap(cause: GapCause): void {
    this.#gaps.add(1, { reason: cause });
  }

  /** Undefined: unknown, which is not 0. */
  lag(lag: Lag | undefined): void {
    set(this.#lagEntries, lag?.entries);
    set(this.#lagSeconds, lag?.seconds);
    set(this.#pending, lag?.pending);
  }
}

function set(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.clear();
  else gauge.set(value);
}

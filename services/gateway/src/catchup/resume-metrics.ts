import type { Counter, Metrics } from '@event-gateway/runtime';

/** What became of a cursor: served from the tail or from the stream, ahead of this replica, or not to be proven complete. */
export type ResumeOutcome = 'tail' | 'stream' | 'ahead' | 'unknown';

const outcomes: readonly ResumeOutcome[] = ['tail', 'stream', 'ahead', 'unknown'];

export class ResumeMetrics {
  readonly #resumes: Counter;

  constructor(metrics: Metrics) {
    this.#resumes = metrics.counter('gateway_resumes_total', 'Connections that brought a cursor, by what became of it.', {
      labels: { outcome: outcomes },
    });
  }

  resumed(outcome: ResumeOutcome): void {
    this.#resumes.add(1, { outcome });
  }
}

import type { Counter, Metrics } from '@event-gateway/runtime';

const entryOutcomes = ['pushed', 'nobody_offline', 'other_type', 'malformed', 'expired', 'postponed'] as const;
const pushOutcomes = ['offline', 'unknown', 'refused', 'failed', 'repeated', 'elsewhere'] as const;
const presenceOutcomes = ['ok', 'degraded', 'failed'] as const;

export type EntryOutcome = (typeof entryOutcomes)[number];
export type PushOutcome = (typeof pushOutcomes)[number];
export type PresenceOutcome = (typeof presenceOutcomes)[number];

/** Is it losing, is it late, is it guessing. */
export class WorkerMetrics {
  readonly #entries: Counter;
  readonly #pushes: Counter;
  readonly #presence: Counter;

  constructor(metrics: Metrics) {
    this.#entries = metrics.counter(
      'notifications_entries_total',
      'Stream entries by what became of them; a postponed one is tried again later and counted again',
      { labels: { outcome: entryOutcomes } },
    );
    this.#pushes = metrics.counter(
      'notifications_pushes_total',
      'Pushes: sent because the recipient was offline or unknown; refused by the sink for good; failed and tried again later; repeated: pushed before; elsewhere: another worker is at it',
      { labels: { outcome: pushOutcomes } },
    );
    this.#presence = metrics.counter('notifications_presence_requests_total', 'Questions to the gateway about presence', {
      labels: { outcome: presenceOutcomes },
    });
  }

  entry(outcome: EntryOutcome): void {
    this.#entries.add(1, { outcome });
  }

  push(outcome: PushOutcome): void {
    this.#pushes.add(1, { outcome });
  }

  presenceAsked(outcome: PresenceOutcome): void {
    this.#presence.add(1, { outcome });
  }
}

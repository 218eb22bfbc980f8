import type { Counter, Metrics } from '@event-gateway/runtime';

/**
 * What became of a typing event. At the author's replica: `relayed`; `throttled` (one per dialog and interval); `not_participant`;
 * `no_card` (nobody could say in time who takes part); `failed` (Redis did not take it, or too many were under way).
 * On the channel: `delivered` (to somebody here), `malformed`.
 */
export type TypingOutcome = 'relayed' | 'throttled' | 'not_participant' | 'no_card' | 'failed' | 'delivered' | 'malformed';

const outcomes: readonly TypingOutcome[] = ['relayed', 'throttled', 'not_participant', 'no_card', 'failed', 'delivered', 'malformed'];

export class TypingMetrics {
  readonly #typing: Counter;

  constructor(metrics: Metrics) {
    this.#typing = metrics.counter('gateway_typing_total', 'Typing events, by what became of them here.', {
      labels: { outcome: outcomes },
    });
  }

  counted(outcome: TypingOutcome): void {
    this.#typing.add(1, { outcome });
  }
}

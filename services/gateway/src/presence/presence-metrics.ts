import type { Counter, Gauge, Metrics } from '@event-gateway/runtime';

/**
 * What became of a lease that was to be written: the user's first here, a renewal, the rest of a grace, taken back after Redis had lost it;
 * or nothing was written (it is tried again).
 */
export type RenewalOutcome = 'connected' | 'renewed' | 'released' | 'restored' | 'failed';

const renewalOutcomes: readonly RenewalOutcome[] = ['connected', 'renewed', 'released', 'restored', 'failed'];

/** `malformed`: a message on the channel that nobody could read. */
export type TransitionKind = 'online' | 'offline' | 'malformed';

const transitionKinds: readonly TransitionKind[] = ['online', 'offline', 'malformed'];

/** Is it kept up, is anybody a ghost. */
export class PresenceMetrics {
  readonly #leases: Gauge;
  readonly #online: Gauge;
  readonly #transitions: Counter;
  readonly #renewals: Counter;

  constructor(metrics: Metrics) {
    this.#leases = metrics.gauge('gateway_presence_leases', 'Users whose presence this replica keeps alive.');
    this.#leases.set(0);
    this.#online = metrics.gauge('gateway_presence_online', 'Users who are online in the whole fleet; absent while Redis is away.');
    this.#transitions = metrics.counter(
      'gateway_presence_transitions_total',
      'Transitions that this replica published, by what they led to; malformed: messages of the channel that were ignored.',
      { labels: { to: transitionKinds } },
    );
    this.#renewals = metrics.counter('gateway_presence_renewals_total', 'Leases written, by outcome.', {
      labels: { outcome: renewalOutcomes },
    });
  }

  leases(count: number): void {
    this.#leases.set(count);
  }

  online(count: number | undefined): void {
    if (count === undefined) this.#online.clear();
    else this.#online.set(count);
  }

  transition(to: TransitionKind, count = 1): void {
    if (count > 0) this.#transitions.add(count, { to });
  }

  renewal(outcome: RenewalOutcome): void {
    this.#renewals.add(1, { outcome });
  }
}

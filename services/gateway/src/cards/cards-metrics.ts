import type { Counter, Gauge, Histogram, Metrics } from '@event-gateway/runtime';
import { OWNER_FAULTS, type OwnerFault } from './owner-answer.js';

/** The messenger's sync is judged apart from its cards: a card endpoint that fails must not take catching up away. */
export type OwnerName = 'user-service' | 'messenger' | 'messenger-sync';
export type CardKind = 'user' | 'conversation';
/**
 * `hit`: there. `refresh`: there, and fetched again behind the scenes. `absent`: known not to exist. `load`: had to be waited
 * for. `fault`: not there, and its owner not to be asked now.
 */
export type CardResult = 'hit' | 'refresh' | 'absent' | 'load' | 'fault';

export const OWNER_NAMES: readonly OwnerName[] = ['user-service', 'messenger', 'messenger-sync'];
const kinds: readonly CardKind[] = ['user', 'conversation'];
const results: readonly CardResult[] = ['hit', 'refresh', 'absent', 'load', 'fault'];

/** How well cards are found and how owners answer. Look-ups are counted in plain numbers: they are the hot path. */
export class CardsMetrics {
  readonly #lookups: Readonly<Record<CardKind, Record<CardResult, number>>> = { user: noLookups(), conversation: noLookups() };
  readonly #fetchSeconds: Histogram;
  readonly #breakerOpen: Gauge;
  readonly #faults: Counter;

  constructor(metrics: Metrics) {
    const lookups = metrics.counter(
      'gateway_card_lookups_total',
      'Cards that events needed, each once per batch, by how they were found.',
      {
        labels: { card: kinds, result: results },
      },
    );
    this.#fetchSeconds = metrics.histogram('gateway_card_fetch_seconds', 'Duration of requests to the owners.', {
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      labels: { owner: OWNER_NAMES },
    });
    this.#breakerOpen = metrics.gauge('gateway_owner_breaker_open', '1 while an owner is left alone because it failed.', {
      labels: { owner: OWNER_NAMES },
    });
    this.#faults = metrics.counter(
      'gateway_owner_faults_total',
      'Requests to the owners without an answer, by reason; a malformed row of a sync counts as one.',
      {
        labels: { owner: OWNER_NAMES, reason: OWNER_FAULTS },
      },
    );
    for (const owner of OWNER_NAMES) this.#breakerOpen.set(0, { owner });
    metrics.onScrape(() => {
      for (const card of kinds) {
        for (const result of results) {
          const count = this.#lookups[card][result];
          if (count > 0) lookups.add(count, { card, result });
          this.#lookups[card][result] = 0;
        }
      }
    });
  }

  lookedUp(card: CardKind, result: CardResult): void {
    this.#lookups[card][result]++;
  }

  fetched(owner: OwnerName, ms: number): void {
    this.#fetchSeconds.observe(ms / 1000, { owner });
  }

  breaker(owner: OwnerName, isOpen: boolean): void {
    this.#breakerOpen.set(isOpen ? 1 : 0, { owner });
  }

  fault(owner: OwnerName, reason: OwnerFault, times = 1): void {
    this.#faults.add(times, { owner, reason });
  }
}

function noLookups(): Record<CardResult, number> {
  return { hit: 0, refresh: 0, absent: 0, load: 0, fault: 0 };
}

import { UPGRADE_REFUSAL_STATUS, type UpgradeRefusal } from '@event-gateway/protocol';
import type { Counter, Metrics } from '@event-gateway/runtime';

/** What the handshake refused. */
export class HandshakeMetrics {
  readonly #refused: Counter;

  constructor(metrics: Metrics) {
    this.#refused = metrics.counter('gateway_upgrades_refused_total', 'Upgrades refused, by the code of the refusal.', {
      labels: { reason: Object.keys(UPGRADE_REFUSAL_STATUS) },
    });
  }

  refused(code: UpgradeRefusal): void {
    this.#refused.add(1, { reason: code });
  }
}

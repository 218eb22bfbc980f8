import { type Clock, every, type Timer } from '@event-gateway/runtime';

/** Until it has been ready once: how long that may stay unnoticed when nobody asks. */
const lookEveryMs = 100;

/** Why a replica may receive no traffic, in the order in which it is told. */
export type UnreadyReason = 'jwks' | 'fence' | 'backlog' | 'canary' | 'redis' | 'draining';

/** What readiness is made of. Each is asked anew every time. */
export interface ReadinessInputs {
  /** The issuer's keys have been loaded once. */
  isJwksLoaded(): boolean;
  /**
   * Why events do not come as they should. `fence`: nothing may be read, because another process holds this replica's id, or could, as the
   * lease is not confirmed. `backlog`: entries from before the start are still being delivered. `redis`: nothing is read from it.
   */
  sourceReasons(): readonly ('fence' | 'backlog' | 'redis')[];
  /** Another process was seen to hold this replica's id. */
  isFencedOut(): boolean;
  /** The canary has not come back in time through the reader. */
  isCanaryLate(): boolean;
  /** Commands are answered. */
  isRedisUp(): boolean;
  /** What is published arrives. */
  isSubscriberUp(): boolean;
  /** Redis answers, but what it publishes has not arrived for too long, and events come that way (FANOUT=pubsub). */
  isCutOff(): boolean;
  isDraining(): boolean;
}

/** The body of `GET /readyz`. */
export type ReadinessReport =
  | { readonly ready: true; readonly degraded?: readonly ['redis'] }
  | { readonly ready: false; readonly reasons: readonly UnreadyReason[] };

/**
 * Whether this replica may receive traffic. To become ready everything must be in order; from then on only faults of this replica itself
 * count: one that all replicas share, like a Redis that is unreachable or takes no writes, would take the whole upstream away at once. It
 * looks by itself: a Redis that dies before the first one has asked must not turn him away.
 */
export class Readiness {
  readonly name = 'readiness';
  readonly #clock: Clock;
  readonly #inputs: ReadinessInputs;
  #hasBeenReady = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, inputs: ReadinessInputs) {
    this.#clock = clock;
    this.#inputs = inputs;
  }

  start(): void {
    if (this.#hasBeenReady) return;
    this.#timer ??= every(this.#clock, lookEveryMs, () => {
      if (this.hasBeenReady) this.stop();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** True for ever once everything was in order at the same time. */
  get hasBeenReady(): boolean {
    if (!this.#hasBeenReady) this.#hasBeenReady = this.#missing().length === 0;
    return this.#hasBeenReady;
  }

  report(): ReadinessReport {
    const reasons = this.hasBeenReady ? this.#ownFaults() : this.#missing();
    if (reasons.length > 0) return { ready: false, reasons };
    return this.#isRedisWhole() && !this.#inputs.sourceReasons().includes('fence') ? { ready: true } : { ready: true, degraded: ['redis'] };
  }

  #missing(): UnreadyReason[] {
    const inputs = this.#inputs;
    const source = inputs.sourceReasons();
    const isFenced = source.includes('fence');
    return those({
      jwks: !inputs.isJwksLoaded(),
      fence: isFenced,
      backlog: source.includes('backlog'),
      canary: inputs.isCanaryLate(),
      // Behind a fence nothing is read either, and Redis is not to blame.
      redis: !this.#isRedisWhole() || (!isFenced && source.includes('redis')),
      draining: inputs.isDraining(),
    });
  }

  /**
   * Without Redis, and for a moment after it is back, no lease is confirmed and no canary returns, on any replica: that says nothing
   * about this one. Nor does a lease that a Redis refuses to write.
   */
  #ownFaults(): UnreadyReason[] {
    const inputs = this.#inputs;
    const isUp = inputs.isRedisUp();
    return those({
      fence: inputs.isFencedOut(),
      canary: isUp && inputs.isCanaryLate(),
      redis: isUp && inputs.isCutOff(),
      draining: inputs.isDraining(),
    });
  }

  #isRedisWhole(): boolean {
    return this.#inputs.isRedisUp() && this.#inputs.isSubscriberUp();
  }
}

function those(faults: Partial<Record<UnreadyReason, boolean>>): UnreadyReason[] {
  const order: readonly UnreadyReason[] = ['jwks', 'fence', 'backlog', 'canary', 'redis', 'draining'];
  return order.filter((reason) => faults[reason]);
}

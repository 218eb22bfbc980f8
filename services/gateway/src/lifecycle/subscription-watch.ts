import { type Clock, every, type Timer } from '@event-gateway/runtime';

const lookEveryMs = 200;

/** The connections to Redis that are watched. */
export interface WatchedConnections {
  isUp(connection: 'command' | 'subscriber'): boolean;
}

export interface SubscriptionWatchOptions {
  /** A subscriber that has been down for this long, while Redis answers, is late. */
  readonly maxDelayMs: number;
}

/**
 * What the canary is for the stream, for pub/sub: says when Redis answers and yet nothing that is published can arrive. After an outage
 * the subscriber comes back a moment after the rest, on every replica; that moment is no fault of this one.
 */
export class SubscriptionWatch {
  readonly name = 'subscription watch';
  readonly #connections: WatchedConnections;
  readonly #clock: Clock;
  readonly #maxDelayMs: number;
  #timer: Timer | undefined;
  /** Since when Redis has answered without a subscriber. */
  #missingSinceMs: number | undefined;

  constructor(connections: WatchedConnections, clock: Clock, { maxDelayMs }: SubscriptionWatchOptions) {
    this.#connections = connections;
    this.#clock = clock;
    this.#maxDelayMs = maxDelayMs;
  }

  start(): void {
    this.#timer ??= every(this.#clock, lookEveryMs, () => this.#look());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  isLate(): boolean {
    this.#look();
    return this.#missingSinceMs !== undefined && this.#clock.nowMs() - this.#missingSinceMs > this.#maxDelayMs;
  }

  #look(): void {
    const isMissing = this.#connections.isUp('command') && !this.#connections.isUp('subscriber');
    if (isMissing) this.#missingSinceMs ??= this.#clock.nowMs();
    else this.#missingSinceMs = undefined;
  }
}

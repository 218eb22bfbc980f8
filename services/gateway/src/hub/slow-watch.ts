import { type Clock, every, type Timer } from '@event-gateway/runtime';
import type { Connection } from './connection.js';

/** Watches the sockets that fell behind, and closes those that take nothing at all for `stuckMs`. */
export class SlowWatch {
  readonly name = 'slow-watch';
  readonly #clock: Clock;
  readonly #stuckMs: number;
  readonly #slow = new Set<Connection>();
  #timer: Timer | undefined;

  constructor(clock: Clock, stuckMs: number) {
    this.#clock = clock;
    this.#stuckMs = stuckMs;
  }

  start(): void {
    this.#timer ??= every(this.#clock, Math.min(1000, this.#stuckMs / 4), () => this.#look());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  add(connection: Connection): void {
    this.#slow.add(connection);
  }

  remove(connection: Connection): void {
    this.#slow.delete(connection);
  }

  #look(): void {
    const nowMs = this.#clock.nowMs();
    for (const connection of this.#slow) {
      if (!connection.isBehind) this.#slow.delete(connection);
      else if (nowMs - connection.stuckSinceMs >= this.#stuckMs) connection.close('slow_consumer');
    }
  }
}

import { type Clock, every, type Timer } from '@event-gateway/runtime';
import type { Connection } from './connection.js';

/** Twenty groups that take turns: ten thousand pings spread over the interval instead of one burst. */
const groupCount = 20;

/**
 * Pings every connection once per interval and closes those that have been silent for 2 to 2.5 of them. Any frame or pong is
 * life. A connection's group comes up twice per interval: once to ping and judge, once only to judge.
 */
export class Heartbeat {
  readonly name = 'heartbeat';
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #groups: Set<Connection>[] = Array.from({ length: groupCount }, () => new Set());
  #next = 0;
  #turn = 0;
  #turnAtMs = 0;
  #forgiveUntilMs = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#turnAtMs = this.#clock.nowMs();
    this.#timer ??= every(this.#clock, this.#intervalMs / 2 / groupCount, () => this.#takeTurn());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  add(connection: Connection): void {
    this.#groups[this.#next++ % groupCount]?.add(connection);
  }

  remove(connection: Connection): void {
    for (const group of this.#groups) if (group.delete(connection)) return;
  }

  #takeTurn(): void {
    const nowMs = this.#clock.nowMs();
    // This process itself was stopped: what clients sent meanwhile is still to be read, so nobody is judged for an interval.
    if (nowMs - this.#turnAtMs > this.#intervalMs) this.#forgiveUntilMs = nowMs + this.#intervalMs;
    this.#turnAtMs = nowMs;
    const group = this.#groups[this.#turn % groupCount];
    const isPinging = Math.floor(this.#turn / groupCount) % 2 === 0;
    this.#turn++;
    for (const connection of group ?? []) {
      if (nowMs - connection.lastActivityMs >= 2 * this.#intervalMs && nowMs >= this.#forgiveUntilMs) connection.close('heartbeat');
      else if (isPinging) connection.ping();
    }
  }
}

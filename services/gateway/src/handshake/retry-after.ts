import type { Clock } from '@event-gateway/runtime';

/** Clients that were refused together must not come back together. */
const jitterSeconds = 5;

/** Nobody is sent away for longer: by then another replica, or a larger rate, may serve them. */
const maxSeconds = 30;

/** A refusal that will be over soon: a whole number of seconds, uniform in 1–5. */
export function briefRetryAfterS(random: () => number): number {
  return 1 + Math.floor(random() * jitterSeconds);
}

/**
 * When those whom the accept rate refuses shall come back: as if they stood in a queue that is served at that rate. The more were
 * refused just now, the later the next one's turn, so that a storm of 10,000 comes back spread over the seconds that it takes to
 * accept it and is not refused again and again.
 */
export class RefusedQueue {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Refused and, by the accept rate, not yet served. */
  #waiting = 0;
  #atMs: number;

  constructor(perSecond: number, clock: Clock, random: () => number) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#random = random;
    this.#atMs = clock.nowMs();
  }

  /** Puts one more into the queue. Whole seconds from 1 to 30. */
  nextRetryAfterS(): number {
    const nowMs = this.#clock.nowMs();
    const servedSinceThen = ((nowMs - this.#atMs) / 1000) * this.#perSecond;
    this.#atMs = nowMs;
    this.#waiting = Math.max(0, this.#waiting - servedSinceThen) + 1;
    const turnS = this.#waiting / this.#perSecond;
    // Longer than the bound: an exact turn is no longer promised, and one second for all of them would be the next storm.
    if (turnS > maxSeconds - 2) return 1 + Math.floor(this.#random() * maxSeconds);
    return 1 + Math.floor(turnS + this.#random() * 2);
  }
}

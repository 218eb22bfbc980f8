/**
 * What this process knows of Redis's clock, by its own monotonic one. Every reply that carries Redis's time bounds the difference from
 * both sides: Redis read its clock between the sending and the receiving. The estimate is never later than the truth, as long as
 * Redis's clock is not set back, and follows within one reply when it is.
 */
export class RedisTime {
  #offsetMs: number | undefined;

  /** A reply said `redisMs` (Unix ms); it was asked for and arrived at these moments (monotonic ms). */
  learn(redisMs: number, sentMs: number, receivedMs: number): void {
    const lowest = redisMs - receivedMs;
    const highest = redisMs - sentMs;
    this.#offsetMs = Math.min(highest, Math.max(lowest, this.#offsetMs ?? lowest));
  }

  /** Redis's time (Unix ms) at this moment (monotonic ms); undefined while it was never heard. */
  at(monotonicMs: number): number | undefined {
    return this.#offsetMs === undefined ? undefined : Math.floor(this.#offsetMs + monotonicMs);
  }
}

import type { CommandRedis, RedisCall } from '@event-gateway/redis';

export type Claim = 'won' | 'pushed_before' | 'taken';

/** A claim outlives the longest push by far and ends by itself when its worker dies. */
const claimMs = 30_000;

/**
 * Who was pushed for what. A push is claimed (`SET NX` with an expiry), made, and then remembered: two workers never make the same push
 * at a time, a message that is published twice is pushed once, and a worker that dies between claim and push holds it up only until the
 * claim expires.
 */
export class PushLedger {
  readonly #redis: CommandRedis;
  readonly #memoryMs: number;

  constructor(redis: CommandRedis, memoryMs: number) {
    this.#redis = redis;
    this.#memoryMs = memoryMs;
  }

  /** One claim for each key, in two round trips at most. @throws RedisUnavailableError, RedisReplyError */
  async claim(keys: readonly string[]): Promise<Claim[]> {
    const claimed = await this.#run(keys.map((key) => ['SET', key, 'claimed', 'NX', 'PX', claimMs]));
    const lost = keys.filter((_, index) => claimed[index] !== 'OK');
    const states = await this.#run(lost.map((key) => ['GET', key]));
    const stateOf = new Map(lost.map((key, index) => [key, states[index]]));
    return keys.map((key, index) => {
      if (claimed[index] === 'OK') return 'won';
      return stateOf.get(key) === 'pushed' ? 'pushed_before' : 'taken';
    });
  }

  async remember(keys: readonly string[]): Promise<void> {
    await this.#run(keys.map((key) => ['SET', key, 'pushed', 'PX', this.#memoryMs]));
  }

  /** Gives claims back: the push was not made, and may be tried again at once. */
  async release(keys: readonly string[]): Promise<void> {
    await this.#run(keys.map((key) => ['DEL', key]));
  }

  async #run(calls: readonly RedisCall[]): Promise<readonly unknown[]> {
    const replies = await this.#redis.pipeline(calls);
    const failed = replies.find((reply) => reply instanceof Error);
    if (failed !== undefined) throw failed;
    return replies;
  }
}

/** JSON, because ids may contain any separator. */
export function pushKey(group: string, messageId: string, userId: string): string {
  return `${group}.push:${JSON.stringify([messageId, userId])}`;
}

import { LuaScript, RedisUnavailableError, type ScriptCall } from '@event-gateway/redis';
import type { Clock } from '@event-gateway/runtime';
import type { RedisHealth } from './redis-health.js';

/** The part of the command connection that presence needs: several scripts, one round trip. */
export interface PresenceRedis {
  runScripts(calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
}

const file = (name: string): URL => new URL(`./scripts/${name}.lua`, import.meta.url);
const load = (name: string, ...preludes: readonly string[]): LuaScript => LuaScript.load(file(name), ...preludes.map(file));

/** Each says in its header what it guarantees, and what it takes. */
export const presenceScripts = {
  writeLeases: load('write-leases', 'own-key'),
  claimSweep: load('claim-sweep'),
  expireLeases: load('expire-leases'),
  readPresence: load('read-presence'),
  readPeers: load('read-peers', 'own-key'),
  writePeers: load('write-peers', 'own-key'),
} as const;

/** A reply, and between which moments (monotonic ms) Redis made it. */
export interface ScriptReply {
  readonly values: readonly unknown[];
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** What became of several scripts. */
export interface ScriptReplies {
  /** One per call, in order; undefined for what failed. */
  readonly replies: readonly (ScriptReply | undefined)[];
  /** No answer came: Redis may still run them. */
  readonly areOnTheirWay: boolean;
}

/** Runs presence's scripts. The one place that learns from failures: nothing behind it throws, a missing reply is undefined. */
export class ScriptDoor {
  readonly #redis: PresenceRedis;
  readonly #clock: Clock;
  readonly #health: RedisHealth;

  constructor(redis: PresenceRedis, clock: Clock, health: RedisHealth) {
    this.#redis = redis;
    this.#clock = clock;
    this.#health = health;
  }

  /** One round trip. A reply per call, in order; undefined for what failed. */
  async run(calls: readonly ScriptCall[]): Promise<readonly (ScriptReply | undefined)[]> {
    return (await this.attempt(calls)).replies;
  }

  /** The same for whoever must know whether what failed can still happen. */
  async attempt(calls: readonly ScriptCall[]): Promise<ScriptReplies> {
    const sentMs = this.#clock.nowMs();
    try {
      const replies = await this.#redis.runScripts(calls);
      const receivedMs = this.#clock.nowMs();
      const failure = replies.find((reply) => reply instanceof Error);
      if (failure === undefined) this.#health.succeeded();
      else this.#health.failed(failure, sentMs);
      const answered = calls.map((_, i) => {
        const values = replies[i];
        return Array.isArray(values) ? { values, sentMs, receivedMs } : undefined;
      });
      return { replies: answered, areOnTheirWay: false };
    } catch (error) {
      this.#health.failed(error, sentMs);
      const wasSent = !(error instanceof RedisUnavailableError && error.isUnsent);
      return { replies: calls.map(() => undefined), areOnTheirWay: wasSent };
    }
  }
}

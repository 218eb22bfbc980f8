import { channels, RedisConnections } from '@event-gateway/redis';
import { type Clock, type Logger, Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import type { UserId } from '@event-gateway/protocol';
import { Presence, type PresenceOptions } from '../presence.js';
import { type TestConnection, TestHub } from './test-hub.js';

/** Times of a lease's life, short enough to be lived through. */
export const shortTimes = {
  leaseTtlMs: 1500,
  renewMs: 300,
  graceMs: 700,
  sweepMs: 100,
  audience: 'direct',
  commandTimeoutMs: 1000,
} as const;

export interface TestReplicaOptions extends Partial<PresenceOptions> {
  readonly id: string;
  readonly url: string;
  /** Where it listens, when that is to fail by itself. */
  readonly listenUrl?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

let incarnations = 0;

/** The presence of one replica, with a hub of its own and its own connections to Redis. */
export class TestReplica {
  readonly hub = new TestHub();
  readonly metrics = new Metrics();
  readonly presence: Presence;
  readonly holder: string;
  readonly #redis: RedisConnections;
  readonly #listening: RedisConnections;
  #timer: NodeJS.Timeout | undefined;

  constructor({ id, url, listenUrl = url, clock = systemClock, logger = silentLogger, ...options }: TestReplicaOptions) {
    const times = { ...shortTimes, ...options };
    const { commandTimeoutMs } = times;
    this.#redis = new RedisConnections({ url, commandTimeoutMs }, systemClock, silentLogger);
    this.#listening = new RedisConnections({ url: listenUrl, commandTimeoutMs }, systemClock, silentLogger);
    this.holder = `${id}#${++incarnations}`;
    this.presence = new Presence(
      { hub: this.hub, redis: this.#redis.command, metrics: this.metrics, clock, logger },
      { ...times, holder: this.holder },
    );
  }

  /** Resolves when the replica can reach Redis and listens to it. */
  async start(): Promise<this> {
    const { command } = this.#redis;
    const { subscriber } = this.#listening;
    subscriber.subscribe(channels.presence, (text) => this.presence.onMessage(text));
    subscriber.onReconnected(() => this.presence.onSubscriberReconnected());
    this.#redis.start();
    this.#listening.start();
    await subscriber.whenSubscribed();
    while (!command.isUp) await new Promise((resolve) => setTimeout(resolve, 5));
    this.presence.start();
    return this;
  }

  connect(userId: UserId): TestConnection {
    return this.hub.connect(userId);
  }

  /** Every user who is here gives a sign of life every so often, as clients do that answer pings. */
  keepAlive(everyMs: number): void {
    this.#timer = setInterval(() => {
      for (const userId of this.hub.users()) this.presence.active(userId);
    }, everyMs);
  }

  fallSilent(): void {
    clearInterval(this.#timer);
  }

  /** As kill -9 does it: nothing is said to anybody. */
  kill(): void {
    this.fallSilent();
    this.presence.stop();
    this.#redis.stop();
    this.#listening.stop();
  }

  async metric(name: string, labels = ''): Promise<number | undefined> {
    const line = (await this.metrics.text()).split('\n').find((text) => text.startsWith(`${name}${labels} `));
    return line === undefined ? undefined : Number(line.split(' ').pop());
  }
}

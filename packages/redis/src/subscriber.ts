import { Backoff, type Clock, every, type Timer } from '@event-gateway/runtime';
import { Redis } from 'ioredis';
import type { ConnectionLog } from './connection-log.js';
import { reconnecting, retryDelayMs } from './redis-client.js';
import { RedisReplyError, toRedisError } from './redis-errors.js';
import { clientOptions, type RedisOptions } from './redis-options.js';

type OnMessage = (bytes: Buffer) => void;

const pingEveryMs = 2000;

/** Listens to pub/sub channels. */
export interface Subscriber {
  /** Connected, and Redis has confirmed every subscription on this connection. */
  readonly isUp: boolean;
  /** May be called before or after the start. */
  subscribe(channel: string, onMessage: (text: string) => void): void;
  /** The same for those who want the bytes. */
  subscribeBytes(channel: string, onMessage: (bytes: Buffer) => void): void;
  /** Called after every loss of the connection, once all subscriptions are confirmed on the new one: what was published meanwhile is lost. */
  onReconnected(fn: () => void): void;
  /** Resolves when all subscriptions are confirmed for the first time. */
  whenSubscribed(): Promise<void>;
}

/** The pub/sub connection: it reconnects by itself, for ever, and subscribes again. */
export class SubscriberConnection implements Subscriber {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #log: ConnectionLog;
  readonly #listeners = new Map<string, OnMessage[]>();
  readonly #onReconnected: (() => void)[] = [];
  readonly #firstConfirmation: Promise<void>;
  #confirmFirst: () => void = () => undefined;
  #wasConfirmed = false;
  #isConfirmed = false;
  #watchdog: Timer | undefined;
  /**
   * The client library counts its attempts from the last connection that stood, and one on which Redis refuses to subscribe has stood: by
   * itself it would come back some 25 times a second for ever.
   */
  readonly #afterRefusal = new Backoff({ minMs: 200, maxMs: 5000 });
  #refusalDelayMs: number | undefined;
  /** Came in one packet with the confirmation: whoever must hear of the reconnect first has not heard of it yet. */
  readonly #early: [channel: string, message: Buffer][] = [];

  constructor(options: RedisOptions, clock: Clock, log: ConnectionLog) {
    this.#clock = clock;
    this.#log = log;
    this.#firstConfirmation = new Promise((resolve) => {
      this.#confirmFirst = resolve;
    });
    this.#redis = new Redis({
      ...reconnecting(clientOptions(options, 'gateway.subscriber')),
      retryStrategy: (attempt) => this.#reconnectDelayMs(attempt),
      commandTimeout: options.commandTimeoutMs,
    });
    this.#redis.on('error', (error: unknown) => log.failed('subscriber', error));
    this.#redis.on('close', () => {
      this.#isConfirmed = false;
      this.#early.length = 0;
    });
    this.#redis.on('ready', () => void this.#confirm());
    this.#redis.on('messageBuffer', (channel: Buffer, message: Buffer) => this.#dispatch(channel.toString(), message));
  }

  get isUp(): boolean {
    return this.#isConfirmed;
  }

  start(): void {
    if (this.#watchdog !== undefined) return;
    void this.#redis.connect().catch(() => undefined);
    this.#watchdog = every(this.#clock, pingEveryMs, () => void this.#ping());
  }

  stop(): void {
    this.#watchdog?.cancel();
    this.#redis.disconnect();
  }

  subscribe(channel: string, onMessage: (text: string) => void): void {
    this.subscribeBytes(channel, (bytes) => onMessage(bytes.toString()));
  }

  subscribeBytes(channel: string, onMessage: OnMessage): void {
    const listeners = this.#listeners.get(channel);
    if (listeners !== undefined) {
      listeners.push(onMessage);
      return;
    }
    this.#listeners.set(channel, [onMessage]);
    if (this.#isConfirmed) void this.#confirm();
  }

  onReconnected(fn: () => void): void {
    this.#onReconnected.push(fn);
  }

  whenSubscribed(): Promise<void> {
    return this.#firstConfirmation;
  }

  async #confirm(): Promise<void> {
    const isNewConnection = !this.#isConfirmed;
    try {
      await this.#subscribeToAll();
    } catch (error) {
      this.#replace(toRedisError(error, 'SUBSCRIBE'));
      return;
    }
    this.#isConfirmed = this.#redis.status === 'ready';
    if (!this.#isConfirmed || !isNewConnection) return;
    this.#log.works('subscriber');
    this.#afterRefusal.reset();
    if (this.#wasConfirmed) for (const fn of this.#onReconnected) fn();
    this.#wasConfirmed = true;
    this.#confirmFirst();
    for (const [channel, message] of this.#early.splice(0)) this.#dispatch(channel, message);
  }

  /** Channels that are added while the server confirms are subscribed to before that counts as done. */
  async #subscribeToAll(): Promise<void> {
    for (let confirmed = 0; confirmed < this.#listeners.size; ) {
      const channels = [...this.#listeners.keys()];
      await this.#redis.subscribe(...channels);
      confirmed = channels.length;
    }
  }

  async #ping(): Promise<void> {
    if (this.#redis.status !== 'ready') return;
    const { stream } = this.#redis;
    const { bytesRead } = stream;
    try {
      await this.#redis.ping();
    } catch (error) {
      // The answer waits behind a flood of messages, which is no silence.
      if (this.#redis.stream === stream && stream.bytesRead > bytesRead) return;
      this.#replace(toRedisError(error, 'PING'));
    }
  }

  #replace(error: Error): void {
    this.#isConfirmed = false;
    const isRefusal = error instanceof RedisReplyError;
    if (isRefusal) this.#log.refused('subscriber', error);
    else this.#log.failed('subscriber', error);
    if (this.#redis.status !== 'ready') return;
    if (isRefusal) this.#refusalDelayMs = this.#afterRefusal.next();
    this.#redis.disconnect(true);
  }

  #reconnectDelayMs(attempt: number): number {
    const delayMs = this.#refusalDelayMs ?? retryDelayMs(attempt);
    this.#refusalDelayMs = undefined;
    return delayMs;
  }

  #dispatch(channel: string, message: Buffer): void {
    if (!this.#isConfirmed) {
      this.#early.push([channel, message]);
      return;
    }
    for (const onMessage of this.#listeners.get(channel) ?? []) onMessage(message);
  }
}

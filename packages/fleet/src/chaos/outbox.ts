import { setTimeout as sleep } from 'node:timers/promises';
import { type EventEnvelope, Publisher, PublishError } from '@event-gateway/publisher';
import type { RedisCall } from '@event-gateway/redis';
import { type Reply, RespClient } from '../redis/resp-client.js';

/** A Redis that has not answered after this long may have taken the event or not. */
const timeoutMs = 1000;
const retryMs = 50;

/**
 * Puts events on the bus, one after the other, each as often as it takes until Redis has confirmed it. So one may be there twice, and a
 * late first try may come behind its successors; none comes before its predecessor has been confirmed.
 */
export class Outbox {
  readonly #masterPort: () => Promise<number>;
  readonly #publisher = new Publisher({ pipeline: (calls) => this.#pipeline(calls) });
  readonly #waiting: EventEnvelope[] = [];
  #client: RespClient | undefined;
  #isRunning = false;
  #isStopped = false;
  #retries = 0;

  constructor(masterPort: () => Promise<number>) {
    this.#masterPort = masterPort;
  }

  /** What is not confirmed yet. */
  get backlog(): number {
    return this.#waiting.length;
  }

  get retries(): number {
    return this.#retries;
  }

  put(event: EventEnvelope): void {
    this.#waiting.push(event);
    if (!this.#isRunning) void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#client?.close();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let event = this.#waiting[0]; event !== undefined && !this.#isStopped; event = this.#waiting[0]) {
      try {
        await this.#publisher.publish(event);
        this.#waiting.shift();
      } catch (error) {
        if (!(error instanceof PublishError)) throw error;
        this.#client?.close();
        this.#retries++;
        await sleep(retryMs);
      }
    }
    this.#isRunning = false;
  }

  async #pipeline(calls: readonly RedisCall[]): Promise<Reply[]> {
    if (this.#client?.isOpen !== true) this.#client = await RespClient.connect({ port: await this.#masterPort() });
    const client = this.#client;
    const timer = setTimeout(() => client.close(), timeoutMs);
    try {
      return await Promise.all(calls.map((call) => client.call(...call)));
    } finally {
      clearTimeout(timer);
    }
  }
}

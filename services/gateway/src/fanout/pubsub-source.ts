import type { Subscriber } from '@event-gateway/redis';
import { type Clock, type Logger, runLoop } from '@event-gateway/runtime';
import type { BatchHandler, EventSource, SourceReason, StreamEntry } from './event-source.js';
import type { StreamMetrics } from './stream/stream-metrics.js';

export interface PubsubSourceOptions {
  readonly channel: string;
  readonly readBatchEntries: number;
}

export interface PubsubSourceDeps {
  readonly subscriber: Pick<Subscriber, 'isUp' | 'subscribeBytes' | 'onReconnected'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handler: BatchHandler;
  readonly metrics: StreamMetrics;
}

/**
 * What may be here while the handler is busy, the batch that it is busy with included. Beyond it messages are dropped, which is told like
 * any other hole.
 */
const maxQueuedMessages = 50_000;
const maxQueuedBytes = 64 * 1024 * 1024;

const envelopeField = Buffer.from('envelope');
const gapMark = Symbol('gap');

/**
 * The starter mode: envelopes over pub/sub, at most once. There is nothing to go back to, so every loss of the connection is a hole,
 * told as soon as the subscription stands again and before anything that was published after it. So is a batch that the handler failed
 * over.
 */
export class PubsubSource implements EventSource {
  readonly name = 'pubsub source';
  readonly #deps: PubsubSourceDeps;
  readonly #options: PubsubSourceOptions;
  readonly #stopping = new AbortController();
  readonly #queue: (StreamEntry | typeof gapMark)[] = [];
  #queuedBytes = 0;
  #isOverflowing = false;
  #wake: () => void = () => undefined;
  #loop: Promise<void> | undefined;
  #isDraining = false;

  constructor(deps: PubsubSourceDeps, options: PubsubSourceOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** There are no cursors. */
  isFromLostEpoch(): boolean {
    return false;
  }

  unreadyReasons(): readonly SourceReason[] {
    return this.#deps.subscriber.isUp ? [] : ['redis'];
  }

  start(): void {
    if (this.#loop !== undefined) return;
    const { subscriber, clock, logger } = this.#deps;
    subscriber.subscribeBytes(this.#options.channel, (bytes) => this.#take(bytes));
    subscriber.onReconnected(() => this.#markGap());
    this.#loop = runLoop({ name: this.name, signal: this.#stopping.signal, clock, logger }, () => this.#deliver());
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#wake();
    await this.#loop;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await this.#loop;
  }

  whoIsLast(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  #take(bytes: Buffer): void {
    if (this.#isDraining || this.#stopping.signal.aborted) return;
    if (this.#queue.length >= maxQueuedMessages || this.#queuedBytes >= maxQueuedBytes) {
      if (!this.#isOverflowing) this.#markGap();
      this.#isOverflowing = true;
      return;
    }
    this.#isOverflowing = false;
    this.#queue.push({ id: null, fields: [envelopeField, bytes] });
    this.#queuedBytes += bytes.length;
    this.#wake();
  }

  #markGap(): void {
    this.#queue.push(gapMark);
    this.#wake();
  }

  /** The next batch, or the next hole. What is being handled is still in the queue, and counts. */
  async #deliver(): Promise<void> {
    if (this.#queue.length === 0) {
      if (this.#isDraining) this.#stopping.abort();
      else await this.#somethingNew();
      return;
    }
    if (this.#queue[0] === gapMark) {
      this.#queue.shift();
      this.#tellGap();
      return;
    }
    const batch = this.#nextBatch();
    let isHandled = false;
    try {
      await this.#deps.handler.handle(batch);
      isHandled = true;
    } finally {
      this.#queue.splice(0, batch.length);
      if (!isHandled) this.#queue.unshift(gapMark);
      this.#queuedBytes -= bytesOf(batch);
    }
  }

  /** Up to the next hole. */
  #nextBatch(): readonly StreamEntry[] {
    const batch: StreamEntry[] = [];
    for (const item of this.#queue) {
      if (item === gapMark || batch.length >= this.#options.readBatchEntries) break;
      batch.push(item);
    }
    return batch;
  }

  #tellGap(): void {
    this.#deps.metrics.gap('pubsub');
    this.#deps.logger.warn({}, 'messages of the bus may have been lost: clients are told to sync');
    this.#deps.handler.gap({ reason: 'gap', cursor: null, isDataLost: false });
  }

  /** Resolves one turn after a message has arrived, so that those that came with it make one batch. */
  #somethingNew(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => void setImmediate(resolve);
      if (this.#queue.length > 0 || this.#isDraining || this.#stopping.signal.aborted) this.#wake();
    });
  }
}

function bytesOf(batch: readonly StreamEntry[]): number {
  let bytes = 0;
  for (const { fields } of batch) bytes += fields[1]?.length ?? 0;
  return bytes;
}

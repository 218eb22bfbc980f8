import { streamIdMs } from '@event-gateway/protocol';
import type { PendingItem } from '@event-gateway/redis';
import { type Clock, type Component, type Logger, RateLimitedLog, runLoop } from '@event-gateway/runtime';
import { decodeNotification, type Notification } from './decode-notification.js';
import type { Presence } from './presence-client.js';
import { type PushLedger, pushKey } from './push-ledger.js';
import type { Push, PushSink } from './push-sink.js';
import type { EntryOutcome, WorkerMetrics } from './worker-metrics.js';

/** Where the batches come from. */
export interface Queue {
  next(): Promise<readonly PendingItem[]>;
  ack(ids: readonly string[]): Promise<void>;
  leave(): Promise<void>;
  close(): void;
}

export interface WorkerParts {
  readonly queue: Queue;
  readonly presence: { of(users: ReadonlySet<string>): Promise<ReadonlyMap<string, Presence>> };
  readonly ledger: Pick<PushLedger, 'claim' | 'remember' | 'release'>;
  readonly sink: PushSink;
  readonly metrics: WorkerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface WorkerOptions {
  readonly group: string;
  readonly maxAgeMs: number;
  readonly concurrency: number;
}

interface PlannedPush extends Push {
  readonly entryId: string;
  readonly key: string;
}

/**
 * The walk: read a batch → decode → ask once who is online → push to everybody who is not → ack. An entry whose pushes have not all
 * ended stays pending, and comes again when it has been idle for long enough.
 */
export class Worker implements Component {
  readonly name = 'worker';
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #log: RateLimitedLog;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;

  constructor(parts: WorkerParts, options: WorkerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#log = new RateLimitedLog(parts.logger, parts.clock);
  }

  start(): void {
    const { clock, logger, queue } = this.#parts;
    const { signal } = this.#ending;
    this.#running ??= runLoop({ name: this.name, signal, clock, logger }, async () => this.handle(await queue.next()));
  }

  /** The batch under way is finished and acknowledged; what a read that is waiting still brings is handled too. */
  async drain(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    await this.#parts.queue.leave();
  }

  stop(): void {
    this.#parts.queue.close();
  }

  async handle(batch: readonly PendingItem[]): Promise<void> {
    if (batch.length === 0) return;
    const { presence, queue, metrics } = this.#parts;
    const outcomes = new Map<string, EntryOutcome>();
    const notifications = this.#decode(batch, outcomes);
    const recipients = new Set<string>(notifications.flatMap((notification) => notification.recipients));
    const statuses = recipients.size === 0 ? new Map<string, Presence>() : await presence.of(recipients);
    const pushes = notifications.flatMap((notification) => this.#plan(notification, statuses));
    for (const { entryId } of notifications) outcomes.set(entryId, 'nobody_offline');
    for (const { entryId } of pushes) outcomes.set(entryId, 'pushed');
    for (let from = 0; from < pushes.length; from += this.#options.concurrency) {
      const postponed = await this.#push(pushes.slice(from, from + this.#options.concurrency));
      for (const { entryId } of postponed) outcomes.set(entryId, 'postponed');
    }
    await queue.ack([...outcomes].filter(([, outcome]) => outcome !== 'postponed').map(([id]) => id));
    for (const outcome of outcomes.values()) metrics.entry(outcome);
  }

  /** New messages that are young enough; what became of all other entries is noted. */
  #decode(batch: readonly PendingItem[], outcomes: Map<string, EntryOutcome>): Notification[] {
    const oldestMs = this.#parts.clock.wallMs() - this.#options.maxAgeMs;
    return batch.flatMap(({ id, fields }) => {
      // Without fields it has been trimmed from the stream while it was pending.
      const isOver = fields === undefined || streamIdMs(id) < oldestMs;
      const decoded = isOver ? 'expired' : decodeNotification({ id, fields });
      if (typeof decoded === 'string') outcomes.set(id, decoded);
      else if ('malformed' in decoded) {
        outcomes.set(id, 'malformed');
        this.#log.warn({ id, reason: decoded.malformed }, 'malformed entry');
      } else return [decoded];
      return [];
    });
  }

  #plan(notification: Notification, statuses: ReadonlyMap<string, Presence>): PlannedPush[] {
    const { entryId, messageId, conversationId, senderId } = notification;
    return notification.recipients.flatMap((userId) => {
      const presence = statuses.get(userId) ?? 'unknown';
      const key = pushKey(this.#options.group, messageId, userId);
      return presence === 'online' ? [] : [{ entryId, key, userId, messageId, conversationId, senderId, presence }];
    });
  }

  /** Makes these pushes at once; returns those that are to be tried again later. */
  async #push(pushes: readonly PlannedPush[]): Promise<PlannedPush[]> {
    const { ledger, metrics } = this.#parts;
    const claims = await ledger.claim(pushes.map(({ key }) => key));
    const won = pushes.filter((_, index) => claims[index] === 'won');
    const taken = pushes.filter((_, index) => claims[index] === 'taken');
    const ended = await Promise.all(won.map((push) => this.#hasEnded(push)));
    const failed = won.filter((_, index) => ended[index] === false);
    await ledger.remember(won.filter((_, index) => ended[index] === true).map(({ key }) => key));
    await ledger.release(failed.map(({ key }) => key));
    for (const claim of claims) if (claim !== 'won') metrics.push(claim === 'taken' ? 'elsewhere' : 'repeated');
    return [...taken, ...failed];
  }

  async #hasEnded(push: PlannedPush): Promise<boolean> {
    const { sink, metrics } = this.#parts;
    try {
      const outcome = await sink.push(push);
      metrics.push(outcome === 'refused' ? 'refused' : push.presence);
      return true;
    } catch (error) {
      metrics.push('failed');
      this.#log.warn({ error }, 'push failed, it is tried again later');
      return false;
    }
  }
}

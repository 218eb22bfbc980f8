import type { Envelope, MalformedReason, StreamId, SyncRequiredReason } from '@event-gateway/protocol';
import type { Clock, Logger } from '@event-gateway/runtime';
import { enrich } from '../frames/enrich.js';
import type { LoadableCards } from '../frames/frame-cards.js';
import type { Hub, LocalUser } from '../hub/hub.js';
import { RecipientMatcher } from '../hub/match-recipients.js';
import { decodeEnvelopeBytes } from '../tail/decode-envelope.js';
import { precedingId } from '../tail/preceding-id.js';
import type { RecentEvent } from '../tail/event-segment.js';
import type { RecentEvents } from '../tail/recent-events.js';
import { decodeEntry, recipientsAsJson, toEvent } from './decode-entry.js';
import type { BatchHandler, Gap, StreamEntry, TailWarmer } from './event-source.js';
import type { FanoutMetrics } from './fanout-metrics.js';
import { Delivery, writeFrames } from './write-frames.js';

/** Events that say that a card has changed: nothing older may be shown with their batch. */
export interface MatchedInvalidation {
  onEvent(envelope: Envelope): void;
}

export interface DeadLetters {
  /** Copies a malformed entry aside, once for the whole fleet; never rejects. */
  bury(id: string, reason: MalformedReason, fields: readonly Buffer[]): Promise<void>;
}

export interface FanoutDeps {
  readonly hub: Hub;
  readonly tail: RecentEvents;
  readonly cards: LoadableCards;
  readonly invalidation: MatchedInvalidation;
  readonly deadLetters: DeadLetters;
  readonly metrics: FanoutMetrics;
  /** What else is kept in Redis may be gone as well. */
  onDataLost(): void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FanoutOptions {
  /** Of the envelope, and of the recipients field, each; inclusive. */
  readonly maxEntryBytes: number;
}

/** Up to where events have been written to every socket. */
export interface Handled {
  /** Null in pub/sub mode. */
  readonly id: StreamId | null;
  readonly position: number;
}

/**
 * Walk 1: one batch of the bus → sockets.
 *
 * One batch at a time, in stream order, with one await between match and write, so that order on every socket is stream order by
 * construction and a cursor is the id of the last frame. What may happen during that await, and between two turns of a large write: a
 * connection closes (its writes are skipped), or one opens (its replay covers what was read before, live takes only what is read
 * after: see catchup/resume.ts).
 */
export class Fanout implements BatchHandler, TailWarmer {
  readonly #hub: Hub;
  readonly #tail: RecentEvents;
  readonly #deps: FanoutDeps;
  readonly #maxEntryBytes: number;
  readonly #matcher: RecipientMatcher<LocalUser>;
  #handled: Handled = { id: null, position: 0 };
  #letters: Promise<void>[] = [];

  constructor(deps: FanoutDeps, options: FanoutOptions) {
    this.#deps = deps;
    this.#hub = deps.hub;
    this.#tail = deps.tail;
    this.#maxEntryBytes = options.maxEntryBytes;
    this.#matcher = new RecipientMatcher(deps.hub);
  }

  get handled(): Handled {
    return this.#handled;
  }

  /** The reader begins after `id`: nothing before it was handled by this process. */
  startAt(id: StreamId): void {
    this.#tail.restartAt(id, 'gap');
    this.#handled = { id, position: this.#tail.lastPosition };
  }

  /** Older entries, read only to be resumed from: they are neither counted nor delivered. */
  prepend(newestFirst: readonly StreamEntry[]): boolean {
    const ids: StreamId[] = [];
    const events: RecentEvent[] = [];
    for (const { id, fields } of newestFirst) {
      const entry = decodeEntry(fields, this.#maxEntryBytes);
      if (id === null) continue;
      ids.push(id);
      if (typeof entry !== 'string') events.push(toEvent(id, entry));
    }
    const firstLeftOut = events[this.#tail.prepend(events)];
    const oldest = ids.at(-1);
    if (firstLeftOut !== undefined) this.#tail.setLowerBound(firstLeftOut.id);
    else if (oldest !== undefined) this.#tail.setLowerBound(precedingId(oldest));
    return firstLeftOut === undefined;
  }

  async handle(batch: readonly StreamEntry[]): Promise<void> {
    const deliveries = this.#match(batch);
    if (deliveries.length > 0) {
      this.#invalidate(deliveries);
      try {
        const warming = enrich(deliveries, this.#deps.cards);
        if (warming !== undefined) await warming;
      } catch (error) {
        this.#deps.logger.error({ error }, 'cards could not be warmed: events go out with those that are there');
      }
      await this.#write(deliveries);
    }
    const id = batch.at(-1)?.id ?? null;
    this.#handled = { id, position: this.#tail.lastPosition };
    if (this.#letters.length > 0) await Promise.all(this.#letters.splice(0));
  }

  /** There is a hole before what follows: everybody is told, before the first frame from behind it. */
  gap({ reason, cursor, isDataLost }: Gap): void {
    if (cursor !== null) this.#tail.restartAt(cursor, reason);
    this.#handled = { id: cursor, position: this.#tail.lastPosition };
    for (const connection of [...this.#hub.connections()])
      if (connection.isLive) connection.requireSync(reason satisfies SyncRequiredReason, cursor);
    if (isDataLost) this.#deps.onDataLost();
  }

  skipped(entries: number): void {
    this.#deps.metrics.read('skipped', entries);
  }

  /** Steps 2 and 3. An event that concerns nobody here costs its recipients' bytes and a place in the tail. */
  #match(batch: readonly StreamEntry[]): Delivery[] {
    const deliveries: Delivery[] = [];
    const readAtMs = this.#deps.clock.nowMs();
    let malformed = 0;
    let failed = 0;
    for (const entry of batch) {
      try {
        const delivery = this.#matchEntry(entry, readAtMs);
        if (typeof delivery === 'string') {
          this.#reject(entry, delivery);
          malformed++;
        } else if (delivery !== undefined) deliveries.push(delivery);
      } catch (error) {
        failed++;
        this.#skip(entry, error);
      }
    }
    this.#deps.metrics.read('malformed', malformed);
    this.#deps.metrics.read('skipped', failed);
    this.#deps.metrics.read('no_recipient', batch.length - malformed - failed - deliveries.length);
    return deliveries;
  }

  /** A fault of ours over one entry. Thrown on, it would have the batch read again, with the same fault, for ever. */
  #skip({ id }: StreamEntry, error: unknown): void {
    this.#deps.logger.error({ id, error }, 'event could not be matched');
    if (id !== null) this.#tail.pass(id);
  }

  #matchEntry({ id, fields }: StreamEntry, readAtMs: number): Delivery | MalformedReason | undefined {
    const entry = decodeEntry(fields, this.#maxEntryBytes);
    if (typeof entry === 'string') return entry;
    const users = this.#matcher.match(entry.recipients);
    if (typeof users === 'string') return users;
    const position = id === null ? 0 : this.#tail.append(id, recipientsAsJson(entry), entry.envelope, readAtMs);
    if (users.length === 0) return undefined;
    const envelope = entry.decoded ?? decodeEnvelopeBytes(entry.envelope, false);
    return typeof envelope === 'string' ? envelope : new Delivery(id, position, envelope, users);
  }

  #reject({ id, fields }: StreamEntry, reason: MalformedReason): void {
    this.#deps.metrics.malformed(reason);
    if (id === null) return;
    this.#tail.pass(id);
    this.#letters.push(this.#deps.deadLetters.bury(id, reason, fields));
  }

  /** Before step 4: no frame of the batch may show a card that the batch itself says is old. */
  #invalidate(deliveries: readonly Delivery[]): void {
    for (const { id, envelope } of deliveries) {
      try {
        this.#deps.invalidation.onEvent(envelope);
      } catch (error) {
        this.#deps.logger.error({ id, error }, 'event could not drop the card that it says has changed');
      }
    }
  }

  /** Steps 5 and 6. */
  async #write(deliveries: readonly Delivery[]): Promise<void> {
    const { metrics, logger, clock } = this.#deps;
    const lost: Delivery[] = [];
    await writeFrames(deliveries, this.#deps.cards, {
      delivered: (connections) => metrics.delivered(connections),
      lost: (delivery, error) => {
        lost.push(delivery);
        logger.error({ id: delivery.id, error }, 'event could not be written: its recipients are told to sync');
      },
    });
    metrics.read('skipped', lost.length);
    metrics.read('delivered', deliveries.length - lost.length);
    const nowMs = clock.wallMs();
    const written = lost.length === 0 ? deliveries : deliveries.filter((delivery) => !lost.includes(delivery));
    for (const { id } of written) if (id !== null) metrics.written(nowMs - Number.parseInt(id, 10));
  }
}

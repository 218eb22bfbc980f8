import {
  asStreamId,
  type ErrorFrame,
  type PresenceEntry,
  type StreamId,
  streamIdMs,
  type SyncCompleteFrame,
  type SyncConversation,
  type SyncFrame,
  type SyncPage,
  type SyncRequest,
  type UserId,
} from '@event-gateway/protocol';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import type { OwnerAnswer } from '../cards/owner-answer.js';
import { EventFrames } from '../frames/build-frame.js';
import { enrich } from '../frames/enrich.js';
import type { LoadableCards } from '../frames/frame-cards.js';
import { DeliveredSeqs } from './delivered-seqs.js';
import type { SyncMetrics, SyncOutcome } from './sync-metrics.js';
import { SyncedTitles } from './synced-titles.js';

/** What a sync needs of its connection. */
export interface SyncConnection {
  readonly userId: UserId;
  /** The handshake's cursor. */
  readonly cursor: StreamId | undefined;
  /** A cursor up to which the client lacks nothing that this connection still owes it; null in pub/sub mode. */
  readonly assuredCursor: StreamId | null;
  /** Resolves when `hello` has been sent, or the connection has closed. */
  greeted(): Promise<void>;
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
  writeControl(frame: SyncCompleteFrame | ErrorFrame): void;
  /** `full`: nothing was written. */
  writeSynced(frame: Uint8Array, type: string): 'written' | 'full' | 'closed';
  /** Resolves when there is room again, or the connection has closed. */
  drained(): Promise<void>;
}

export interface SyncMessenger {
  /** One page; bounded in number and in time, waits for its turn, never rejects. */
  fetchSyncPage(
    request: SyncRequest,
    options: { readonly signal: AbortSignal; readonly isContinued: boolean },
  ): Promise<OwnerAnswer<SyncPage>>;
  /** Ms until the messenger is asked again; 0 while it serves. */
  readonly syncWaitMs: number;
}

export interface SyncPresence<C> {
  learnSynced(userId: UserId, conversations: readonly SyncConversation[], isWhole: boolean): void;
  /** Hands the states of the user's peers to `write`, unless the connection has closed; never rejects. */
  snapshotInto(connection: C, write: (presence: readonly PresenceEntry[]) => void): Promise<void>;
}

export interface SyncDependencies<C> {
  readonly messenger: SyncMessenger;
  readonly cards: LoadableCards;
  readonly presence: SyncPresence<C>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SyncMetrics;
}

export interface SyncOptions {
  /** SYNC_MAX_PAGES. */
  readonly maxPages: number;
  /** The least time after which a client is told to try again, in ms. */
  readonly retryAfterMs: number;
  /** SYNC_REQUIRED_JITTER_MS: spreads those who are told to try again. */
  readonly jitterMs: number;
}

/** What a frame that only says `next` goes on with. As large as a client's frame at the most. */
interface UnfinishedSync {
  readonly next: string;
  readonly request: SyncRequest;
  /** It has lost an event: what goes on from there is not whole at its end either. */
  readonly hasLost: boolean;
}

/** Changes of the last minute before the client's cursor are asked for again: clocks differ, and publishing takes its time. */
const overlapMs = 60_000;
/** Frames that are built before others get their turn: a page may hold thousands. */
const framesPerTurn = 128;
/** When the transport refuses although there is room, no drain would tell when it takes frames again: tried after this. */
const retryWriteMs = 20;

/** How the messenger's side of a sync ended. */
type Followed =
  | {
      readonly kind: 'pages';
      readonly titles: SyncedTitles;
      readonly seqs: DeliveredSeqs;
      readonly next: string | undefined;
      /** The messenger named dialogs in a form that says nothing: those that are known are not all. */
      readonly hasUnknownDialogs: boolean;
    }
  | { readonly kind: 'closed' }
  | { readonly kind: 'refused'; readonly answer: Exclude<OwnerAnswer<SyncPage>, { kind: 'found' }> };

/**
 * Catches a client up from the messenger: pages → frames, enriched like live ones → `sync.complete`. Live frames go on meanwhile,
 * and nothing here needs Redis. One sync at a time per connection; a connection that closes ends its sync at once.
 */
export class Sync<C extends SyncConnection> {
  readonly #deps: SyncDependencies<C>;
  readonly #options: SyncOptions;
  readonly #log: RateLimitedLog;
  readonly #running = new Set<C>();
  /** Those whose sync has pages left. */
  readonly #unfinished = new WeakMap<C, UnfinishedSync>();

  constructor(deps: SyncDependencies<C>, options: SyncOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#log = new RateLimitedLog(deps.logger, deps.clock);
  }

  /** Answers by itself, with frames and at the end `sync.complete` or an error. */
  onSync(connection: C, frame: SyncFrame): void {
    const { clock, metrics } = this.#deps;
    if (this.#running.has(connection)) {
      refuse(connection, frame, { code: 'sync_in_progress', message: 'one sync at a time' });
      metrics.ended('in_progress', 0);
      return;
    }
    this.#running.add(connection);
    const startedMs = clock.nowMs();
    void this.#sync(connection, frame)
      .catch((error: unknown) => this.#failed(connection, frame, error))
      .then((outcome) => {
        this.#running.delete(connection);
        metrics.ended(outcome, clock.nowMs() - startedMs);
      });
  }

  /** Not foreseen: it ends this sync and nothing else. */
  #failed(connection: C, frame: SyncFrame, error: unknown): SyncOutcome {
    this.#deps.logger.error({ error }, 'sync failed');
    this.#refuseUnavailable(connection, frame, 'the sync failed');
    return 'unavailable';
  }

  async #sync(connection: C, frame: SyncFrame): Promise<SyncOutcome> {
    await connection.greeted();
    // Taken before the messenger is asked: what it does not know yet has an id above, and comes live. And not above what a replay under way
    // still owes, or the client would skip it.
    const cursor = connection.assuredCursor;
    const unfinished = this.#unfinishedBefore(connection, frame);
    const request = this.#request(connection, frame, unfinished);
    const followed = await this.#followPages(connection, request, frame.next, unfinished?.hasLost ?? false);
    if (followed.kind === 'closed' || connection.signal.aborted) return 'aborted';
    if (followed.kind === 'refused') return this.#unavailable(connection, frame, followed.answer);
    const { titles, seqs, next } = followed;
    const hasMore = next !== undefined;
    if (next === undefined) this.#unfinished.delete(connection);
    else this.#unfinished.set(connection, { next, request, hasLost: seqs.hasLost });
    const conversations = [...titles.conversations];
    // An answer without any dialog proves nothing: the messenger may have left the list out.
    const isWhole = !hasMore && frame.next === undefined && conversations.length > 0 && !followed.hasUnknownDialogs;
    this.#deps.presence.learnSynced(connection.userId, conversations, isWhole);
    await this.#deps.presence.snapshotInto(connection, (presence) =>
      connection.writeControl({
        type: 'sync.complete',
        ...refOf(frame),
        conversations: hasMore ? seqs.soFar() : seqs.whole(),
        presence,
        has_more: hasMore,
        ...(hasMore ? { next } : {}),
        cursor,
      }),
    );
    if (connection.signal.aborted) return 'aborted';
    return hasMore ? 'partial' : 'completed';
  }

  #unfinishedBefore(connection: C, { next }: SyncFrame): UnfinishedSync | undefined {
    const unfinished = this.#unfinished.get(connection);
    return next !== undefined && next === unfinished?.next ? unfinished : undefined;
  }

  /** The messenger is asked for every page with the whole question: a page token may mean nothing without it. */
  #request(connection: C, frame: SyncFrame, unfinished: UnfinishedSync | undefined): SyncRequest {
    const request = { user_id: connection.userId, conversations: frame.conversations, ...this.#since(connection, frame) };
    if (unfinished === undefined) return request;
    return {
      ...request,
      ...(frame.conversations.size === 0 ? { conversations: unfinished.request.conversations } : {}),
      ...(frame.cursor === undefined && unfinished.request.since_ms !== undefined ? { since_ms: unfinished.request.since_ms } : {}),
    };
  }

  async #followPages(connection: C, request: SyncRequest, from: string | undefined, hasLost: boolean): Promise<Followed> {
    const { userId, signal } = connection;
    const titles = new SyncedTitles(this.#deps.cards, userId);
    const seqs = new DeliveredSeqs(request.conversations);
    if (hasLost) seqs.lost();
    let hasUnknownDialogs = false;
    let next = from;
    for (let pages = 0; pages < this.#options.maxPages; pages++) {
      const page = next === undefined ? request : { ...request, page: next };
      const answer = await this.#deps.messenger.fetchSyncPage(page, { signal, isContinued: pages > 0 });
      if (answer.kind !== 'found') return { kind: 'refused', answer };
      titles.learn(answer.value.conversations);
      for (const conversation of answer.value.conversations) seqs.named(conversation);
      if (answer.value.malformed.events > 0) seqs.lost();
      if (answer.value.malformed.conversations > 0) hasUnknownDialogs = true;
      if (!(await this.#writePage(connection, answer.value, titles, seqs))) return { kind: 'closed' };
      next = answer.value.nextPage;
      if (next === undefined) break;
    }
    return { kind: 'pages', titles, seqs, next, hasUnknownDialogs };
  }

  /** In the messenger's order. False when the connection has closed. */
  async #writePage(connection: C, { events }: SyncPage, titles: SyncedTitles, seqs: DeliveredSeqs): Promise<boolean> {
    const viewers = [connection.userId];
    for (let at = 0; at < events.length; at += framesPerTurn) {
      if (at > 0) await nextTurn();
      const chunk = events.slice(at, at + framesPerTurn);
      const loading = enrich(
        chunk.map((envelope) => ({ envelope, viewers })),
        titles,
      );
      if (loading !== undefined) await loading;
      for (const envelope of chunk) {
        const frame = new EventFrames(envelope, null, titles).for(connection.userId);
        if (!(await this.#write(connection, frame, envelope.type))) return false;
        seqs.delivered(envelope);
      }
    }
    return true;
  }

  /** Waits for the socket as long as that takes: whether it is stuck is the connection's business. */
  async #write(connection: C, frame: Uint8Array, type: string): Promise<boolean> {
    let verdict = connection.writeSynced(frame, type);
    for (let tries = 0; verdict === 'full'; tries++) {
      await connection.drained();
      if (tries > 0) await this.#deps.clock.sleep(retryWriteMs, connection.signal);
      verdict = connection.writeSynced(frame, type);
    }
    return verdict === 'written';
  }

  /** From when on changes to older messages are wanted; left out when the client has no cursor. */
  #since(connection: C, frame: SyncFrame): { readonly since_ms?: number } {
    const cursor = asStreamId(frame.cursor) ?? connection.cursor;
    if (cursor === undefined) return {};
    return { since_ms: Math.max(0, Math.min(streamIdMs(cursor), this.#deps.clock.wallMs()) - overlapMs) };
  }

  #unavailable(connection: C, frame: SyncFrame, answer: Exclude<OwnerAnswer<SyncPage>, { kind: 'found' }>): SyncOutcome {
    const isOverloaded = answer.kind === 'fault' && answer.reason === 'overloaded';
    const reason = answer.kind === 'none' ? 'refused' : answer.reason;
    this.#log.warn({ reason }, isOverloaded ? 'sync queue full' : 'messenger does not answer syncs');
    this.#refuseUnavailable(connection, frame, isOverloaded ? 'too many syncs' : 'the messenger does not answer');
    return isOverloaded ? 'overloaded' : 'unavailable';
  }

  #refuseUnavailable(connection: C, frame: SyncFrame, message: string): void {
    refuse(connection, frame, { code: 'sync_unavailable', message, retry_after_ms: this.#retryAfterMs() });
  }

  #retryAfterMs(): number {
    const leastMs = Math.max(this.#options.retryAfterMs, this.#deps.messenger.syncWaitMs);
    return Math.ceil(leastMs + Math.random() * this.#options.jitterMs);
  }
}

function refuse(connection: SyncConnection, frame: SyncFrame, error: ErrorFrame['error']): void {
  connection.writeControl({ type: 'error', error: { ...error, ...refOf(frame) } });
}

function refOf({ ref }: SyncFrame): { readonly ref?: string } {
  return ref === undefined ? {} : { ref };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

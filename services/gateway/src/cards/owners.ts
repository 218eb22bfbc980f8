import {
  type ConversationCard,
  type ConversationId,
  decodeConversationCard,
  decodeSyncPage,
  decodeUserCard,
  encodeSyncRequest,
  type SyncPage,
  type SyncRequest,
  type UserCard,
  type UserId,
} from '@event-gateway/protocol';
import { type Clock, type Logger, RateLimitedLog, silentLogger } from '@event-gateway/runtime';
import type { CardSource } from './card-cache.js';
import type { CardsMetrics } from './cards-metrics.js';
import type { OwnerAnswer } from './owner-answer.js';
import { OwnerClient, type OwnerClientOptions, type OwnerReport } from './owner-client.js';

export interface OwnersOptions {
  /** USER_SERVICE_URL. */
  readonly userServiceUrl: string;
  /** MESSENGER_URL. */
  readonly messengerUrl: string;
  /** OWNER_TOKEN. */
  readonly ownerToken: string | undefined;
  /** OWNER_TIMEOUT_MS. */
  readonly ownerTimeoutMs: number;
  /** OWNER_BREAKER_OPEN_MS. */
  readonly ownerBreakerOpenMs: number;
  /** SYNC_TIMEOUT_MS. */
  readonly syncTimeoutMs: number;
  /** SYNC_CONCURRENCY. */
  readonly syncConcurrency: number;
  /** SYNC_QUEUE. */
  readonly syncQueue: number;
}

/** How a page is asked for. */
export interface SyncPageOptions {
  readonly signal: AbortSignal;
  /** Not the first page of its sync: goes before those who have nothing yet. */
  readonly isContinued: boolean;
}

/**
 * Cards are small and answered from memory: this many at once keep an owner busy without burying it. Twice as many make the first
 * burst of a replica slower (75–105 ms for 50 cards instead of 55–95), since every connection is opened first.
 */
const cardsConcurrency = 16;
/** A batch needs a few hundred at most; thousands of resumes at once may need their senders all together. */
const cardsQueue = 10_000;
/** A card is taken until this many timeouts after it was due. */
const lateTimeouts = 4;
/** A conversation of twenty thousand participants. */
const maxCardBytes = 1_048_576;
const maxSyncPageBytes = 8_388_608;

/** The services that own what the gateway shows: user-service (user cards) and the messenger (conversation cards, sync). */
export class Owners {
  readonly users: CardSource<UserId, UserCard>;
  readonly conversations: CardSource<ConversationId, ConversationCard>;
  readonly #clients: readonly { stop(): Promise<void> }[];
  readonly #sync: OwnerClient<SyncPage>;
  readonly #metrics: CardsMetrics;
  readonly #log: RateLimitedLog;

  constructor(clock: Clock, metrics: CardsMetrics, options: OwnersOptions, logger: Logger = silentLogger) {
    this.#metrics = metrics;
    this.#log = new RateLimitedLog(logger, clock);
    const report = reporter(metrics, logger);
    const common = { bearerToken: options.ownerToken, breakerOpenMs: options.ownerBreakerOpenMs };
    const forCards: Omit<OwnerClientOptions, 'name' | 'baseUrl'> = {
      ...common,
      timeoutMs: options.ownerTimeoutMs,
      lateMs: lateTimeouts * options.ownerTimeoutMs,
      maxConcurrent: cardsConcurrency,
      maxQueued: cardsQueue,
      maxResponseBytes: maxCardBytes,
      isNone: (status) => status === 404,
    };
    const userService = new OwnerClient(
      { ...forCards, name: 'user-service', baseUrl: options.userServiceUrl },
      decodeUserCard,
      clock,
      report,
    );
    const messenger = new OwnerClient(
      { ...forCards, name: 'messenger', baseUrl: options.messengerUrl },
      decodeConversationCard,
      clock,
      report,
    );
    this.#sync = new OwnerClient(
      {
        ...common,
        name: 'messenger-sync',
        baseUrl: options.messengerUrl,
        timeoutMs: options.syncTimeoutMs,
        // Its client has been told to come back.
        lateMs: 0,
        maxConcurrent: options.syncConcurrency,
        maxQueued: options.syncQueue,
        maxResponseBytes: maxSyncPageBytes,
        // Refusing one user is an answer; being too slow or too busy is not.
        isNone: (status) => status >= 400 && status < 500 && status !== 408 && status !== 429,
      },
      decodeSyncPage,
      clock,
      report,
    );
    this.users = cardSource(
      userService,
      (id) => `/internal/users/${id}/card`,
      (card) => card.userId,
    );
    this.conversations = cardSource(
      messenger,
      (id) => `/internal/conversations/${id}/card`,
      (card) => card.conversationId,
    );
    this.#clients = [userService, messenger, this.#sync];
  }

  /** Asks the messenger for one page; at most SYNC_CONCURRENCY at once. Never rejects. */
  async fetchSyncPage(request: SyncRequest, { signal, isContinued }: SyncPageOptions): Promise<OwnerAnswer<SyncPage>> {
    const answer = await this.#sync.request({ path: '/internal/sync', body: encodeSyncRequest(request), signal, isUrgent: isContinued });
    if (answer.kind === 'found') this.#tellMalformed(answer.value);
    return answer;
  }

  /** Rows that nobody could read are a fault of the messenger's, but none that would be a reason to leave it alone. */
  #tellMalformed({ malformed: { conversations, events } }: SyncPage): void {
    if (conversations + events === 0) return;
    this.#metrics.fault('messenger-sync', 'malformed', conversations + events);
    this.#log.warn({ owner: 'messenger-sync', conversations, events }, 'malformed rows of a sync left out');
  }

  /** Ms until the messenger is asked for pages again; 0 when it serves. */
  get syncWaitMs(): number {
    return this.#sync.waitMs;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.stop()));
  }
}

/** An operator is told when an owner begins to fail and when it serves again; what happens in between is for the metrics. */
function reporter(metrics: CardsMetrics, logger: Logger): OwnerReport {
  return {
    fetched: (owner, ms) => metrics.fetched(owner, ms),
    fault: (owner, reason) => metrics.fault(owner, reason),
    breaker: (owner, isOpen) => {
      metrics.breaker(owner, isOpen);
      if (isOpen) logger.warn({ owner }, 'owner fails, left alone');
      else logger.info({ owner }, 'owner serves again');
    },
  };
}

/** `pathOf` is given the id percent-encoded. A card that says to be another one is never shown: it would put a wrong name on a message. */
function cardSource<I extends string, T>(client: OwnerClient<T>, pathOf: (id: string) => string, idOf: (card: T) => I): CardSource<I, T> {
  return {
    fetch: async (id) => {
      // As a path segment these two mean another path, however they are encoded: no owner can be asked for them.
      if (id === '.' || id === '..') return { kind: 'none' };
      return client.request({ path: pathOf(encodeURIComponent(id)), answers: (card) => idOf(card) === id });
    },
    get isServing() {
      return client.isServing;
    },
    onProbe: (probe) => client.onProbe(probe),
  };
}

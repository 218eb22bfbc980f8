import type { ConversationCard, ConversationId, UserCard, UserId } from '@event-gateway/protocol';
import { type Clock, within } from '@event-gateway/runtime';
import { CardCache, type CardSource } from './card-cache.js';
import type { CardLoad } from './card-load.js';
import type { CachedConversationCard, CachedUserCard, CardLookup, Cards } from './cards.js';
import type { CardsMetrics } from './cards-metrics.js';
import { encodeConversationCard, encodeUserCard } from './encode-card.js';

export interface CachedCardsOptions {
  /** CARD_CACHE_MAX_BYTES, for users and conversations together. */
  readonly maxBytes: number;
  /** CARD_TTL_MS. */
  readonly ttlMs: number;
  /** CARD_NEGATIVE_TTL_MS: how long a 404 is believed. */
  readonly negativeTtlMs: number;
  /** OWNER_BREAKER_OPEN_MS: a card that its owner failed to give is not asked for again before this. */
  readonly faultTtlMs: number;
  /** CARD_DEADLINE_MS: how long a warm-up may wait. */
  readonly deadlineMs: number;
}

export interface CachedCardsDependencies {
  readonly users: CardSource<UserId, UserCard>;
  readonly conversations: CardSource<ConversationId, ConversationCard>;
  readonly clock: Clock;
  readonly metrics: Pick<CardsMetrics, 'lookedUp'>;
}

/** The cards of this replica: two bounded caches before their owners, and warming both with one deadline. */
export class CachedCards implements Cards {
  readonly #users: CardCache<UserId, UserCard, CachedUserCard>;
  readonly #conversations: CardCache<ConversationId, ConversationCard, CachedConversationCard>;
  readonly #clock: Clock;
  readonly #deadlineMs: number;

  constructor({ users, conversations, clock, metrics }: CachedCardsDependencies, options: CachedCardsOptions) {
    this.#clock = clock;
    this.#deadlineMs = options.deadlineMs;
    const half = { ...options, maxBytes: Math.floor(options.maxBytes / 2) };
    this.#users = new CardCache(users, encodeUserCard, clock, half, (result) => metrics.lookedUp('user', result));
    this.#conversations = new CardCache(conversations, encodeConversationCard, clock, half, (result) =>
      metrics.lookedUp('conversation', result),
    );
  }

  user(id: UserId): CardLookup<CachedUserCard> {
    return this.#users.peek(id);
  }

  conversation(id: ConversationId): CardLookup<CachedConversationCard> {
    return this.#conversations.peek(id);
  }

  deadline(): number {
    return this.#clock.nowMs() + this.#deadlineMs;
  }

  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>, untilMs?: number): Promise<void> | undefined {
    const nowMs = this.#clock.nowMs();
    const userLoads = wantAll(this.#users, users, nowMs);
    const conversationLoads = wantAll(this.#conversations, conversations, nowMs);
    if (userLoads === undefined && conversationLoads === undefined) return undefined;
    const leftMs = (untilMs ?? nowMs + this.#deadlineMs) - nowMs;
    return leftMs > 0 ? this.#wait(userLoads ?? [], conversationLoads ?? [], leftMs) : undefined;
  }

  onConversationLoaded(listener: (card: ConversationCard) => void): void {
    this.#conversations.onLoaded(listener);
  }

  /** The user's card has changed, to this one if it is given. */
  invalidateUser(id: UserId, card?: UserCard): void {
    if (card === undefined) this.#users.invalidate(id);
    else this.#users.replace(id, card);
  }

  invalidateConversation(id: ConversationId): void {
    this.#conversations.invalidate(id);
  }

  /** Changes may have been missed: every card is served on, and fetched again when it is next wanted. */
  suspectAll(): void {
    this.#users.suspectAll();
    this.#conversations.suspectAll();
  }

  async #wait(users: readonly CardLoad<UserId>[], conversations: readonly CardLoad<ConversationId>[], ms: number): Promise<void> {
    await within(this.#clock, ms, Promise.all([...users, ...conversations].map((load) => load.done)));
    for (const load of users) this.#users.gaveUp(load);
    for (const load of conversations) this.#conversations.gaveUp(load);
  }
}

/** The loads that are worth waiting for; undefined when there are none. */
function wantAll<I extends string, T, C extends object>(
  cache: CardCache<I, T, C>,
  ids: Iterable<I>,
  nowMs: number,
): CardLoad<I>[] | undefined {
  let loads: CardLoad<I>[] | undefined;
  for (const id of ids) {
    const load = cache.want(id, nowMs);
    if (load !== undefined) (loads ??= []).push(load);
  }
  return loads;
}

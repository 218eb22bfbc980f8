import type { ConversationCard, ConversationId, ConversationType, UserId } from '@event-gateway/protocol';

/** `absent`: the owner says that there is none (404). `missing`: not known by a fault, or not loaded. */
export type CardLookup<C> = C | 'absent' | 'missing';

/** A user card as it lies in memory: what frames need of it is encoded already. */
export interface CachedUserCard {
  readonly displayName: string;
  /** JSON bytes of the name and what follows it, to be put behind a key: `"Alice"` or `"Alice","avatar_url":"…"`. */
  readonly named: Uint8Array;
}

/** A conversation card as it lies in memory. */
export interface CachedConversationCard {
  readonly type: ConversationType;
  /** Unique, in the messenger's order. */
  readonly participants: readonly UserId[];
  /** JSON bytes of the card's own header: `{"type":"group","title":"Team","avatar_url":"…"}`. */
  readonly header: Uint8Array;
}

/** The cards that this replica holds. Looking is synchronous and never asks an owner; warming does. */
export interface Cards {
  user(id: UserId): CardLookup<CachedUserCard>;
  conversation(id: ConversationId): CardLookup<CachedConversationCard>;
  /** The moment (monotonic ms) until which a warm-up that begins now may wait: CARD_DEADLINE_MS from now. */
  deadline(): number;
  /**
   * Loads what is not there. Undefined when there is nothing to wait for: everything is hot, or its owner is not to be waited
   * for. Otherwise a promise that resolves when all is loaded, at the latest at `untilMs` (by default `deadline()`); it never
   * rejects, and loads that are not done by then land in the cache later.
   */
  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>, untilMs?: number): Promise<void> | undefined;
  /** Called with every conversation card that an owner has sent. */
  onConversationLoaded(listener: (card: ConversationCard) => void): void;
}

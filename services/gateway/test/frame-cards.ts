import type { ConversationCard, ConversationId, UserCard, UserId } from '@event-gateway/protocol';
import { encodeConversationCard, encodeUserCard } from '../src/cards/encode-card.js';
import type { CachedConversationCard, CachedUserCard, CardLookup } from '../src/cards/cards.js';

/** Cards that are simply there: what is not put in is `missing`. */
export class FixedCards {
  readonly #users = new Map<string, CardLookup<CachedUserCard>>();
  readonly #conversations = new Map<string, CardLookup<CachedConversationCard>>();

  putUser(id: string, card: Partial<UserCard> | 'absent'): this {
    const userId = id as UserId;
    this.#users.set(id, card === 'absent' ? card : encodeUserCard({ displayName: id, ...card, userId }).card);
    return this;
  }

  putConversation(id: string, card: Partial<ConversationCard> | 'absent'): this {
    const conversationId = id as ConversationId;
    const whole: ConversationCard | 'absent' = card === 'absent' ? card : { type: 'group', participants: [], ...card, conversationId };
    this.#conversations.set(id, whole === 'absent' ? whole : encodeConversationCard(whole).card);
    return this;
  }

  user(id: UserId): CardLookup<CachedUserCard> {
    return this.#users.get(id) ?? 'missing';
  }

  conversation(id: ConversationId): CardLookup<CachedConversationCard> {
    return this.#conversations.get(id) ?? 'missing';
  }
}

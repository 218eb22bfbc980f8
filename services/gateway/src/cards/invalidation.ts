import {
  decodeConversationChanged,
  decodeUserUpdated,
  type ConversationId,
  type Envelope,
  type UserCard,
  type UserId,
} from '@event-gateway/protocol';
import { channels } from '@event-gateway/redis';
import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';

export interface InvalidatedCards {
  invalidateUser(id: UserId, card?: UserCard): void;
  invalidateConversation(id: ConversationId): void;
  suspectAll(): void;
}

/** What carries messages from the owners; at most once, so a reconnect means that some may be missing. */
export interface InvalidationChannels {
  subscribe(channel: string, onMessage: (text: string) => void): void;
  /** Called when the subscriptions stand again after a loss of the connection. */
  onReconnected(listener: () => void): void;
}

/** What makes a conversation's card old; the events of the stream have the same names. */
const conversationChannels = [channels.conversationUpdated, channels.memberChanged];
/** A conversation that nobody knew may have been looked for already, and its absence been remembered. */
const conversationEvents: ReadonlySet<string> = new Set<string>([...conversationChannels, 'conversation.created']);

/**
 * Drops cards that have changed. Pub/sub is the authority: events of the stream are looked at only where they concern somebody
 * here.
 */
export class CardInvalidation {
  readonly #cards: InvalidatedCards;
  readonly #log: RateLimitedLog;

  constructor(cards: InvalidatedCards, clock: Clock, logger: Logger) {
    this.#cards = cards;
    this.#log = new RateLimitedLog(logger, clock);
  }

  listen(subscriber: InvalidationChannels): void {
    subscriber.subscribe(channels.userUpdated, (text) => this.#onUserUpdated(text));
    for (const channel of conversationChannels) subscriber.subscribe(channel, (text) => this.#onConversationChanged(channel, text));
    subscriber.onReconnected(() => this.#cards.suspectAll());
  }

  /** An event that concerns somebody here; all events of a batch come by before its cards are fetched. */
  onEvent(envelope: Envelope): void {
    if (envelope.conversationId === undefined || !conversationEvents.has(envelope.type)) return;
    this.#cards.invalidateConversation(envelope.conversationId);
  }

  #onUserUpdated(text: string): void {
    const message = decodeUserUpdated(text);
    if (message === undefined) this.#malformed(channels.userUpdated);
    else this.#cards.invalidateUser(message.userId, message.card);
  }

  #onConversationChanged(channel: string, text: string): void {
    const message = decodeConversationChanged(text);
    if (message === undefined) this.#malformed(channel);
    else this.#cards.invalidateConversation(message.conversationId);
  }

  /** Which card it meant is unknown. */
  #malformed(channel: string): void {
    this.#log.warn({ channel }, 'malformed invalidation ignored');
  }
}

import {
  type ConversationId,
  decodeTypingMessage,
  encodeFrame,
  encodeTypingMessage,
  type TypingMessage,
  type UserId,
} from '@event-gateway/protocol';
import { channels } from '@event-gateway/redis';
import { type Clock, type Logger, type Metrics, RateLimitedLog } from '@event-gateway/runtime';
import { TypingLimit } from './typing-limit.js';
import { TypingMetrics, type TypingOutcome } from './typing-metrics.js';

/** What typing needs of a connection. */
export interface TypingConnection {
  readonly userId: UserId;
  writeEphemeral(frame: string, type: 'typing'): unknown;
}

export interface TypingHub {
  connectionsOf(userId: UserId): readonly TypingConnection[];
}

/** What typing needs of the cards. `absent`: the owner says that there is none; `missing`: not known by a fault, or not loaded. */
export interface TypingCards {
  user(id: UserId): { readonly displayName: string } | 'absent' | 'missing';
  conversation(id: ConversationId): { readonly participants: readonly UserId[] } | 'absent' | 'missing';
  /** Undefined when there is nothing to wait for; else resolves within the cards' deadline, never rejects. */
  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>): Promise<void> | undefined;
}

export interface TypingRedis {
  call(command: 'PUBLISH', channel: string, message: string): Promise<unknown>;
}

export interface TypingDeps {
  readonly hub: TypingHub;
  readonly cards: TypingCards;
  readonly redis: TypingRedis;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TypingOptions {
  /** One per user and dialog in this time, on this replica. */
  readonly intervalMs: number;
}

/** Pairs of user and dialog that are remembered: 20,000 authors who type in two dialogs at once. */
const maxLimits = 40_000;
/** Events that wait for a card or for Redis. What is behind them would be out of date when its turn came. */
const maxUnderWay = 1000;
/** Sockets written at once: about two milliseconds. */
const sliceWrites = 256;
/** Shown where there is no name. */
const noName = '…';

/** Relays who is typing: from the author's socket over pub/sub to the other participants' sockets. Nothing is stored, nothing is promised. */
export class Typing {
  readonly #deps: TypingDeps;
  readonly #metrics: TypingMetrics;
  readonly #limit: TypingLimit;
  readonly #log: RateLimitedLog;
  #underWay = 0;

  constructor(deps: TypingDeps, options: TypingOptions) {
    this.#deps = deps;
    this.#metrics = new TypingMetrics(deps.metrics);
    this.#limit = new TypingLimit(deps.clock, options.intervalMs, maxLimits);
    this.#log = new RateLimitedLog(deps.logger.child({ room: 'typing' }), deps.clock);
  }

  /** The user of this connection types in a conversation. Silent whatever becomes of it: an error would tell strangers what exists. */
  onTyping({ userId }: Pick<TypingConnection, 'userId'>, conversationId: ConversationId): void {
    if (!this.#limit.take(userId, conversationId)) this.#metrics.counted('throttled');
    else void this.#bounded(() => this.#relay(userId, conversationId));
  }

  /** A message of `gateway.typing`. */
  onMessage(text: string): void {
    const message = decodeTypingMessage(text);
    if (message === undefined) this.#metrics.counted('malformed');
    else if (this.#isForSomebodyHere(message)) void this.#bounded(() => this.#deliver(message));
  }

  async #relay(userId: UserId, conversationId: ConversationId): Promise<TypingOutcome> {
    const { cards, redis } = this.#deps;
    // Also when it is there: the warm-up judges whether it is too old.
    const warming = cards.warm([], [conversationId]);
    if (warming !== undefined) await warming;
    const card = cards.conversation(conversationId);
    if (card === 'missing') return 'no_card';
    if (card === 'absent' || !card.participants.includes(userId)) return 'not_participant';
    const recipients = card.participants.filter((participant) => participant !== userId);
    if (recipients.length > 0) await redis.call('PUBLISH', channels.typing, encodeTypingMessage({ conversationId, userId, recipients }));
    return 'relayed';
  }

  async #deliver({ conversationId, userId, recipients }: TypingMessage): Promise<TypingOutcome> {
    const { hub, cards, clock } = this.#deps;
    const warming = cards.warm([userId], []);
    if (warming !== undefined) await warming;
    const card = cards.user(userId);
    const frame = encodeFrame({
      type: 'typing',
      conversation_id: conversationId,
      user_id: userId,
      user_name: typeof card === 'object' ? card.displayName : noName,
      ...(card === 'missing' ? { stale: true } : {}),
    });
    let writes = 0;
    for (const recipient of recipients) {
      if (recipient === userId) continue;
      for (const connection of hub.connectionsOf(recipient)) {
        connection.writeEphemeral(frame, 'typing');
        writes++;
      }
      // A group of thousands gives way to messages between its slices.
      if (writes >= sliceWrites) {
        writes = 0;
        await clock.sleep(0);
      }
    }
    return 'delivered';
  }

  #isForSomebodyHere({ userId, recipients }: TypingMessage): boolean {
    for (const recipient of recipients) if (recipient !== userId && this.#deps.hub.connectionsOf(recipient).length > 0) return true;
    return false;
  }

  /** Nobody waits for an ornament, and a failure of one is a figure and a line now and then. */
  async #bounded(run: () => Promise<TypingOutcome>): Promise<void> {
    if (this.#underWay >= maxUnderWay) {
      this.#metrics.counted('failed');
      return;
    }
    this.#underWay++;
    try {
      this.#metrics.counted(await run());
    } catch (error) {
      this.#metrics.counted('failed');
      this.#log.warn({ error }, 'typing could not be relayed');
    } finally {
      this.#underWay--;
    }
  }
}

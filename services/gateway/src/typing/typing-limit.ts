import type { ConversationId, UserId } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';

/** One typing event per user, dialog and interval. Holds only those of the last interval, and never more than `maxEntries`. */
export class TypingLimit {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #maxEntries: number;
  /** Oldest first: the interval is the same for all, so they end in the order in which they began. */
  readonly #startedMs = new Map<string, number>();

  constructor(clock: Clock, intervalMs: number, maxEntries: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#maxEntries = maxEntries;
  }

  /** True if this one may pass. With every place taken nobody new may: the limit protects Redis, not the author. */
  take(userId: UserId, conversationId: ConversationId): boolean {
    const nowMs = this.#clock.nowMs();
    for (const [key, startedMs] of this.#startedMs) {
      if (nowMs - startedMs < this.#intervalMs) break;
      this.#startedMs.delete(key);
    }
    // No id has a control character in it, so no two pairs share a key.
    const key = `${userId}\n${conversationId}`;
    if (this.#startedMs.has(key) || this.#startedMs.size >= this.#maxEntries) return false;
    this.#startedMs.set(key, nowMs);
    return true;
  }
}

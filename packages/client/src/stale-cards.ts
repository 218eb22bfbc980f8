import type { Clock } from './clock.js';
import type { DurableFrame, TypingFrame } from './frames.js';

/** Names that the gateway could not get: `user_id` is the author (or who types), `conversation_id` the dialog. */
export interface StaleCards {
  readonly user_id?: string;
  readonly conversation_id?: string;
  readonly frame: DurableFrame | TypingFrame;
}

/** The same pair is not asked for again within this time: the owner is ill already. */
const ASK_EVERY_MS = 30_000;

/** Tells the application which names are worth fetching on its own. */
export class StaleCardWatch {
  readonly #clock: Clock;
  readonly #refetch: (cards: StaleCards) => void;
  readonly #askedAtMs = new Map<string, number>();

  constructor(clock: Clock, refetch: (cards: StaleCards) => void) {
    this.#clock = clock;
    this.#refetch = refetch;
  }

  look(frame: DurableFrame | TypingFrame): void {
    if (frame.stale !== true) return;
    const userId = 'user_id' in frame ? frame.user_id : 'message' in frame ? frame.message?.sender_id : undefined;
    const nowMs = this.#clock.nowMs();
    for (const [key, askedAtMs] of this.#askedAtMs) if (nowMs - askedAtMs >= ASK_EVERY_MS) this.#askedAtMs.delete(key);
    const key = JSON.stringify([userId, frame.conversation_id]);
    if (this.#askedAtMs.has(key)) return;
    this.#askedAtMs.set(key, nowMs);
    this.#refetch({
      ...(userId === undefined ? {} : { user_id: userId }),
      ...(frame.conversation_id === undefined ? {} : { conversation_id: frame.conversation_id }),
      frame,
    });
  }
}

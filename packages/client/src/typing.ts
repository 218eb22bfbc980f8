import type { Clock } from './clock.js';
import type { TypingFrame } from './frames.js';
import type { Timers } from './timers.js';

export interface TypingTiming {
  /** One `typing` per dialog and this time: the gateway drops what is more. */
  readonly typingEveryMs: number;
  /** Somebody who says nothing more for this long has stopped. */
  readonly typingExpiryMs: number;
}

export interface TypingChange {
  readonly conversation_id: string;
  readonly user_id: string;
  readonly user_name?: string;
  readonly active: boolean;
}

export class Typing {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #timing: TypingTiming;
  readonly #changed: (change: TypingChange) => void;
  readonly #sentAtMs = new Map<string, number>();
  /** Who types where, by conversation. */
  readonly #active = new Map<string, Map<string, TypingFrame>>();

  constructor(clock: Clock, timers: Timers, timing: TypingTiming, changed: (change: TypingChange) => void) {
    this.#clock = clock;
    this.#timers = timers;
    this.#timing = timing;
    this.#changed = changed;
  }

  /** Whether a frame may go out now; if so, it counts as sent. */
  mayTell(conversationId: string): boolean {
    const nowMs = this.#clock.nowMs();
    for (const [id, sentAtMs] of this.#sentAtMs)
      if (nowMs - sentAtMs >= this.#timing.typingEveryMs || nowMs < sentAtMs) this.#sentAtMs.delete(id);
    if (this.#sentAtMs.has(conversationId)) return false;
    this.#sentAtMs.set(conversationId, nowMs);
    return true;
  }

  in(conversationId: string): readonly TypingFrame[] {
    return [...(this.#active.get(conversationId)?.values() ?? [])];
  }

  heard(frame: TypingFrame): void {
    const users = this.#active.get(frame.conversation_id) ?? new Map<string, TypingFrame>();
    const isNew = !users.has(frame.user_id);
    this.#active.set(frame.conversation_id, users.set(frame.user_id, frame));
    this.#timers.set(timerName(frame.conversation_id, frame.user_id), this.#timing.typingExpiryMs, () =>
      this.stopped(frame.conversation_id, frame.user_id),
    );
    if (isNew) this.#changed(change(frame, true));
  }

  /** Time is up, or what was typed has come. */
  stopped(conversationId: string, userId: string): void {
    const users = this.#active.get(conversationId);
    const frame = users?.get(userId);
    if (users === undefined || frame === undefined) return;
    users.delete(userId);
    if (users.size === 0) this.#active.delete(conversationId);
    this.#timers.clear(timerName(conversationId, userId));
    this.#changed(change(frame, false));
  }

  clear(): void {
    this.#active.clear();
    this.#sentAtMs.clear();
  }
}

/** Ids have no control characters, so this is one name per pair. */
function timerName(conversationId: string, userId: string): string {
  return `typing\n${conversationId}\n${userId}`;
}

function change(frame: TypingFrame, active: boolean): TypingChange {
  const { conversation_id, user_id, user_name } = frame;
  return { conversation_id, user_id, ...(user_name === undefined ? {} : { user_name }), active };
}

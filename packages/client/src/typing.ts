import type { Context } from './context.js';
import type { TypingFrame } from './frames.js';

export interface TypingChange {
  readonly conversation_id: string;
  readonly user_id: string;
  readonly user_name?: string | undefined;
  readonly active: boolean;
}

export class Typing {
  readonly #context: Context;
  readonly #changed: (change: TypingChange) => void;
  /** Who types where, by conversation. */
  readonly #active = new Map<string, Map<string, TypingFrame>>();

  constructor(context: Context, changed: (change: TypingChange) => void) {
    this.#context = context;
    this.#changed = changed;
  }

  /** Whether a frame may go out now; if so, it counts as sent. */
  mayTell(conversationId: string): boolean {
    return this.#context.timers.isDue(`typed\n${conversationId}`, this.#context.timing.typingEveryMs);
  }

  in(conversationId: string): readonly TypingFrame[] {
    return [...(this.#active.get(conversationId)?.values() ?? [])];
  }

  heard(frame: TypingFrame): void {
    const users = this.#active.get(frame.conversation_id) ?? new Map<string, TypingFrame>();
    const isNew = !users.has(frame.user_id);
    this.#active.set(frame.conversation_id, users.set(frame.user_id, frame));
    this.#context.timers.set(timerName(frame.conversation_id, frame.user_id), this.#context.timing.typingExpiryMs, () =>
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
    this.#context.timers.clear(timerName(conversationId, userId));
    this.#changed(change(frame, false));
  }

  /** Nobody types any more, as far as this client can know. */
  stopAll(): void {
    for (const [conversationId, users] of [...this.#active]) for (const userId of [...users.keys()]) this.stopped(conversationId, userId);
  }
}

/** Ids have no control characters, so this is one name per pair. */
function timerName(conversationId: string, userId: string): string {
  return `typing\n${conversationId}\n${userId}`;
}

function change(frame: TypingFrame, active: boolean): TypingChange {
  const { conversation_id, user_id, user_name } = frame;
  return { conversation_id, user_id, user_name, active };
}

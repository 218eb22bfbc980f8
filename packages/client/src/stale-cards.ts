import type { DurableFrame, TypingFrame } from './frames.js';
import type { Timers } from './timers.js';

/** Names that the gateway could not get: `user_id` is the author (or who types), `conversation_id` the dialog. */
export interface StaleCards {
  readonly user_id: string | undefined;
  readonly conversation_id: string | undefined;
  readonly frame: DurableFrame | TypingFrame;
}

/** The same pair is not asked for again within this time: the owner is ill already. */
const ASK_EVERY_MS = 30_000;

/** The names in this frame that are worth fetching another way; undefined when there are none, or they were named just now. */
export function staleCards(frame: DurableFrame | TypingFrame, timers: Timers): StaleCards | undefined {
  if (frame.stale !== true) return undefined;
  const userId = 'user_id' in frame ? frame.user_id : 'message' in frame ? frame.message?.sender_id : undefined;
  const isDue = timers.isDue(`stale\n${userId}\n${frame.conversation_id}`, ASK_EVERY_MS);
  return isDue ? { user_id: userId, conversation_id: frame.conversation_id, frame } : undefined;
}

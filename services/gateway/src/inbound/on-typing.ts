import type { ConversationId, TypingRequestFrame } from '@event-gateway/protocol';
import type { HandlerResult } from './inbound-connection.js';

/** Who tells the others; it decides by itself whether this user may type there, and never answers. */
export interface TypingPort<C> {
  onTyping(connection: C, conversationId: ConversationId): void;
}

export function onTyping<C>(connection: C, { conversationId }: TypingRequestFrame, typing: TypingPort<C>): HandlerResult {
  typing.onTyping(connection, conversationId);
  return 'ok';
}

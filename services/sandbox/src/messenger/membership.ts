import { Refusal } from '../refusal.js';
import type { Conversation, ConversationStore } from '../store/conversation-store.js';

/** The conversation, when the user is in it. Every door to a conversation begins here. */
export function conversationOfMember(store: ConversationStore, conversationId: string, userId: string): Conversation | Refusal {
  const conversation = store.get(conversationId);
  if (conversation === undefined) return new Refusal('conversation_unknown', 'there is no such conversation');
  if (!store.isMember(conversationId, userId)) return new Refusal('not_a_member', 'you are not a member of this conversation');
  return conversation;
}

import type { Conversation, Dialog } from '../store/conversation-store.js';
import type { Message, Reaction } from '../store/message-store.js';
import type { User } from '../store/user-store.js';

// How the messenger's things look on the wire, in events and in HTTP answers alike.

export function messagePayload(message: Message): object {
  const { messageId, seq, senderId, text, clientId, sentAtMs, editedAtMs, deletedAtMs } = message;
  return {
    id: messageId,
    seq,
    sender_id: senderId,
    text,
    sent_at: isoTime(sentAtMs),
    client_id: clientId,
    edited_at: editedAtMs === undefined ? undefined : isoTime(editedAtMs),
    deleted_at: deletedAtMs === undefined ? undefined : isoTime(deletedAtMs),
  };
}

export function reactionPayload({ messageId, userId, emoji }: Reaction, seq: number): object {
  return { message_id: messageId, seq, user_id: userId, emoji };
}

export function userBody({ userId, displayName, avatarUrl, status }: User): object {
  return { user_id: userId, display_name: displayName, avatar_url: avatarUrl, status };
}

export function conversationBody(conversation: Conversation, participants: readonly string[]): object {
  const { conversationId, type, title, avatarUrl, lastSeq } = conversation;
  return { conversation_id: conversationId, type, title, avatar_url: avatarUrl, last_seq: lastSeq, participants };
}

export function dialogBody({ conversationId, type, title, avatarUrl, lastSeq, peerId }: Dialog): object {
  return { conversation_id: conversationId, type, title, avatar_url: avatarUrl, last_seq: lastSeq, peer_id: peerId };
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

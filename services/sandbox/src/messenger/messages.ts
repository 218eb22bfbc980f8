import { randomUUID } from 'node:crypto';
import type { Clock } from '@event-gateway/runtime';
import { Refusal } from '../refusal.js';
import type { ConversationStore } from '../store/conversation-store.js';
import type { Database } from '../store/database.js';
import type { Message, MessageStore } from '../store/message-store.js';
import type { EventRecorder } from './event-recorder.js';
import { conversationOfMember } from './membership.js';
import { isoTime, reactionPayload } from './payloads.js';

export interface MessageDraft {
  readonly text: string;
  /** The sender's own id for it: posted again after a lost answer, it is the same message. */
  readonly clientId: string | undefined;
}

/** Posting, editing and deleting messages, and reactions to them. Each is one transaction with the event that tells it. */
export class Messages {
  readonly #database: Database;
  readonly #conversations: ConversationStore;
  readonly #messages: MessageStore;
  readonly #recorder: EventRecorder;
  readonly #clock: Clock;

  constructor(database: Database, conversations: ConversationStore, messages: MessageStore, recorder: EventRecorder, clock: Clock) {
    this.#database = database;
    this.#conversations = conversations;
    this.#messages = messages;
    this.#recorder = recorder;
    this.#clock = clock;
  }

  /** `isNew` is false when this message had been posted before under the same client id. */
  post(userId: string, conversationId: string, { text, clientId }: MessageDraft): { message: Message; isNew: boolean } | Refusal {
    return this.#database.transaction(() => {
      const conversation = conversationOfMember(this.#conversations, conversationId, userId);
      if (conversation instanceof Refusal) return conversation;
      const posted = clientId === undefined ? undefined : this.#messages.byClientId(conversationId, userId, clientId);
      if (posted !== undefined) return { message: posted, isNew: false };
      const message: Message = {
        messageId: randomUUID(),
        eventId: randomUUID(),
        conversationId,
        seq: this.#conversations.takeSeq(conversationId),
        senderId: userId,
        text,
        clientId,
        sentAtMs: this.#clock.wallMs(),
        editedAtMs: undefined,
        deletedAtMs: undefined,
      };
      this.#messages.insert(message);
      this.#recorder.messagePosted(message, this.#conversations.members(conversationId));
      return { message, isNew: true };
    });
  }

  /** Oldest first: the `maxMessages` before `beforeSeq`, or the newest. */
  history(userId: string, conversationId: string, beforeSeq: number | undefined, maxMessages: number): Message[] | Refusal {
    const conversation = conversationOfMember(this.#conversations, conversationId, userId);
    if (conversation instanceof Refusal) return conversation;
    const throughSeq = Math.min(conversation.lastSeq, (beforeSeq ?? Number.MAX_SAFE_INTEGER) - 1);
    return this.#messages.between(conversationId, throughSeq - maxMessages, throughSeq, maxMessages);
  }

  reactionsTo(messageId: string): object[] {
    return this.#messages.reactionsTo(messageId).map(({ userId, emoji }) => ({ user_id: userId, emoji }));
  }

  edit(userId: string, conversationId: string, messageId: string, text: string): Message | Refusal {
    return this.#change(userId, conversationId, messageId, 'author', (message, recipients) => {
      const editedAtMs = this.#clock.wallMs();
      this.#messages.edit(messageId, text, editedAtMs);
      this.#recorder.changed({
        type: 'message.edited',
        conversationId,
        recipients,
        payload: { id: messageId, seq: message.seq, sender_id: userId, text, edited_at: isoTime(editedAtMs) },
        subject: ['edit', messageId],
        aboutSeq: message.seq,
        atMs: editedAtMs,
      });
    });
  }

  delete(userId: string, conversationId: string, messageId: string): Message | Refusal {
    return this.#change(userId, conversationId, messageId, 'author', (message, recipients) => {
      const deletedAtMs = this.#clock.wallMs();
      for (const reaction of this.#messages.reactionsTo(messageId)) this.#recorder.forget(reactionSubject({ ...reaction, messageId }));
      this.#messages.delete(messageId, deletedAtMs);
      // What was deleted is not told to anyone who has not heard it yet.
      this.#recorder.forget(['edit', messageId]);
      this.#recorder.changed({
        type: 'message.deleted',
        conversationId,
        recipients,
        payload: { id: messageId, seq: message.seq, sender_id: userId, deleted_at: isoTime(deletedAtMs) },
        subject: ['delete', messageId],
        aboutSeq: message.seq,
        atMs: deletedAtMs,
      });
    });
  }

  react(userId: string, conversationId: string, messageId: string, emoji: string): Message | Refusal {
    return this.#setReaction(userId, conversationId, messageId, emoji, true);
  }

  unreact(userId: string, conversationId: string, messageId: string, emoji: string): Message | Refusal {
    return this.#setReaction(userId, conversationId, messageId, emoji, false);
  }

  #setReaction(userId: string, conversationId: string, messageId: string, emoji: string, isWanted: boolean): Message | Refusal {
    return this.#change(userId, conversationId, messageId, 'member', (message, recipients) => {
      const reaction = { messageId, userId, emoji };
      if (this.#messages.hasReaction(reaction) === isWanted) return;
      if (isWanted) this.#messages.addReaction(reaction);
      else this.#messages.removeReaction(reaction);
      this.#recorder.changed({
        type: isWanted ? 'reaction.added' : 'reaction.removed',
        conversationId,
        recipients,
        payload: reactionPayload(reaction, message.seq),
        subject: reactionSubject(reaction),
        aboutSeq: message.seq,
        atMs: this.#clock.wallMs(),
      });
    });
  }

  /** What every change to a message has in common: who may, and that it still is there. Returns it as it is afterwards. */
  #change(
    userId: string,
    conversationId: string,
    messageId: string,
    allowed: 'author' | 'member',
    change: (message: Message, recipients: readonly string[]) => void,
  ): Message | Refusal {
    return this.#database.transaction(() => {
      const conversation = conversationOfMember(this.#conversations, conversationId, userId);
      if (conversation instanceof Refusal) return conversation;
      const message = this.#messages.get(conversationId, messageId);
      if (message === undefined) return new Refusal('message_unknown', 'there is no such message in this conversation');
      if (allowed === 'author' && message.senderId !== userId) return new Refusal('not_the_author', 'only its author may change a message');
      if (message.deletedAtMs !== undefined) return new Refusal('message_deleted', 'the message has been deleted');
      change(message, this.#conversations.members(conversationId));
      return this.#messages.get(conversationId, messageId) ?? message;
    });
  }
}

function reactionSubject({ messageId, userId, emoji }: { messageId: string; userId: string; emoji: string }): string[] {
  return ['reaction', messageId, userId, emoji];
}

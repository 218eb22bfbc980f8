import type { Database } from './database.js';
import { integer, optionalInteger, optionalText, type Row, text } from './row.js';

export interface Message {
  readonly messageId: string;
  /** Of its message.new event: the same however often it is published or synced. */
  readonly eventId: string;
  readonly conversationId: string;
  readonly seq: number;
  readonly senderId: string;
  /** Empty once it is deleted. */
  readonly text: string;
  readonly clientId: string | undefined;
  readonly sentAtMs: number;
  readonly editedAtMs: number | undefined;
  readonly deletedAtMs: number | undefined;
}

export interface Reaction {
  readonly messageId: string;
  readonly userId: string;
  readonly emoji: string;
}

export class MessageStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  insert(message: Message): void {
    this.#database.run('INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', [
      message.messageId,
      message.eventId,
      message.conversationId,
      message.seq,
      message.senderId,
      message.text,
      message.clientId ?? null,
      message.sentAtMs,
      message.editedAtMs ?? null,
      message.deletedAtMs ?? null,
    ]);
  }

  get(conversationId: string, messageId: string): Message | undefined {
    return one(this.#database.get('SELECT * FROM messages WHERE message_id = ? AND conversation_id = ?', [messageId, conversationId]));
  }

  byClientId(conversationId: string, senderId: string, clientId: string): Message | undefined {
    return one(
      this.#database.get('SELECT * FROM messages WHERE conversation_id = ? AND sender_id = ? AND client_id = ?', [
        conversationId,
        senderId,
        clientId,
      ]),
    );
  }

  /** Oldest first, with `afterSeq < seq <= throughSeq`. */
  between(conversationId: string, afterSeq: number, throughSeq: number, maxMessages: number): Message[] {
    return this.#database
      .all('SELECT * FROM messages WHERE conversation_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?', [
        conversationId,
        afterSeq,
        throughSeq,
        maxMessages,
      ])
      .map(toMessage);
  }

  edit(messageId: string, newText: string, editedAtMs: number): void {
    this.#database.run('UPDATE messages SET text = ?, edited_at_ms = ? WHERE message_id = ?', [newText, editedAtMs, messageId]);
  }

  /** The row stays: seq has no holes. Its text and reactions go. */
  delete(messageId: string, deletedAtMs: number): void {
    this.#database.run(`UPDATE messages SET text = '', deleted_at_ms = ? WHERE message_id = ?`, [deletedAtMs, messageId]);
    this.#database.run('DELETE FROM reactions WHERE message_id = ?', [messageId]);
  }

  hasReaction({ messageId, userId, emoji }: Reaction): boolean {
    return (
      this.#database.get('SELECT 1 FROM reactions WHERE message_id = ? AND user_id = ? AND emoji = ?', [messageId, userId, emoji]) !==
      undefined
    );
  }

  addReaction({ messageId, userId, emoji }: Reaction): void {
    this.#database.run('INSERT INTO reactions VALUES (?, ?, ?)', [messageId, userId, emoji]);
  }

  removeReaction({ messageId, userId, emoji }: Reaction): void {
    this.#database.run('DELETE FROM reactions WHERE message_id = ? AND user_id = ? AND emoji = ?', [messageId, userId, emoji]);
  }

  reactionsTo(messageId: string): Omit<Reaction, 'messageId'>[] {
    return this.#database
      .all('SELECT user_id, emoji FROM reactions WHERE message_id = ? ORDER BY rowid', [messageId])
      .map((row) => ({ userId: text(row, 'user_id'), emoji: text(row, 'emoji') }));
  }
}

function one(row: Row | undefined): Message | undefined {
  return row === undefined ? undefined : toMessage(row);
}

function toMessage(row: Row): Message {
  return {
    messageId: text(row, 'message_id'),
    eventId: text(row, 'event_id'),
    conversationId: text(row, 'conversation_id'),
    seq: integer(row, 'seq'),
    senderId: text(row, 'sender_id'),
    text: text(row, 'text'),
    clientId: optionalText(row, 'client_id'),
    sentAtMs: integer(row, 'sent_at_ms'),
    editedAtMs: optionalInteger(row, 'edited_at_ms'),
    deletedAtMs: optionalInteger(row, 'deleted_at_ms'),
  };
}

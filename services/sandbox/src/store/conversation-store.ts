import type { Database } from './database.js';
import { integer, optionalText, type Row, text } from './row.js';

export interface Conversation {
  readonly conversationId: string;
  readonly type: 'direct' | 'group';
  readonly title: string | undefined;
  readonly avatarUrl: string | undefined;
  /** The seq of its newest message, 0 before the first. */
  readonly lastSeq: number;
}

/** A conversation as one of its members sees it in a list. */
export interface Dialog extends Conversation {
  /** The other person of a direct dialog. */
  readonly peerId: string | undefined;
}

export class ConversationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(conversationId: string): Conversation | undefined {
    const row = this.#database.get('SELECT * FROM conversations WHERE conversation_id = ?', [conversationId]);
    return row === undefined ? undefined : toConversation(row);
  }

  /** In the order of joining. */
  members(conversationId: string): string[] {
    return this.#database
      .all('SELECT user_id FROM members WHERE conversation_id = ? ORDER BY rowid', [conversationId])
      .map((row) => text(row, 'user_id'));
  }

  isMember(conversationId: string, userId: string): boolean {
    return this.#database.get('SELECT 1 FROM members WHERE conversation_id = ? AND user_id = ?', [conversationId, userId]) !== undefined;
  }

  /** All conversations of a user, in the order of their ids. */
  dialogsOf(userId: string): Dialog[] {
    return this.#database
      .all(
        `SELECT c.*, (SELECT user_id FROM members p WHERE c.type = 'direct' AND p.conversation_id = c.conversation_id
                      AND p.user_id <> m.user_id) AS peer_id
         FROM members m JOIN conversations c USING (conversation_id) WHERE m.user_id = ? ORDER BY c.conversation_id`,
        [userId],
      )
      .map((row) => ({ ...toConversation(row), peerId: optionalText(row, 'peer_id') }));
  }

  directBetween(one: string, other: string): Conversation | undefined {
    const row = this.#database.get('SELECT * FROM conversations WHERE direct_pair = ?', [pairOf(one, other)]);
    return row === undefined ? undefined : toConversation(row);
  }

  create({ conversationId, type, title, avatarUrl }: Omit<Conversation, 'lastSeq'>, members: readonly string[]): void {
    const [one, other] = members;
    const pair = type === 'direct' && one !== undefined && other !== undefined ? pairOf(one, other) : null;
    this.#database.run('INSERT INTO conversations (conversation_id, type, title, avatar_url, direct_pair) VALUES (?, ?, ?, ?, ?)', [
      conversationId,
      type,
      title ?? null,
      avatarUrl ?? null,
      pair,
    ]);
    for (const member of members) this.addMember(conversationId, member);
  }

  update(conversationId: string, { title, avatarUrl }: Pick<Conversation, 'title' | 'avatarUrl'>): void {
    this.#database.run('UPDATE conversations SET title = ?, avatar_url = ? WHERE conversation_id = ?', [
      title ?? null,
      avatarUrl ?? null,
      conversationId,
    ]);
  }

  addMember(conversationId: string, userId: string): void {
    this.#database.run('INSERT INTO members VALUES (?, ?)', [conversationId, userId]);
  }

  removeMember(conversationId: string, userId: string): void {
    this.#database.run('DELETE FROM members WHERE conversation_id = ? AND user_id = ?', [conversationId, userId]);
  }

  /** Takes the next seq; within the transaction that stores the message, so that no seq is ever missing. */
  takeSeq(conversationId: string): number {
    const row = this.#database.get('UPDATE conversations SET last_seq = last_seq + 1 WHERE conversation_id = ? RETURNING last_seq', [
      conversationId,
    ]);
    if (row === undefined) throw new Error('a seq was asked for in a conversation that does not exist');
    return integer(row, 'last_seq');
  }
}

/** JSON, because ids may contain any separator. */
function pairOf(one: string, other: string): string {
  return JSON.stringify([one, other].sort());
}

function toConversation(row: Row): Conversation {
  return {
    conversationId: text(row, 'conversation_id'),
    type: text(row, 'type') === 'direct' ? 'direct' : 'group',
    title: optionalText(row, 'title'),
    avatarUrl: optionalText(row, 'avatar_url'),
    lastSeq: integer(row, 'last_seq'),
  };
}

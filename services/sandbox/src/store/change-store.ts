import type { Database } from './database.js';
import { integer, type Row, text } from './row.js';

/** Something that happened other than message.new. */
export interface Change {
  /** What it is the newest state of: a later change of the same subject replaces it. */
  readonly subject: string;
  readonly eventId: string;
  readonly type: string;
  readonly conversationId: string;
  readonly aboutSeq: number | undefined;
  readonly aboutUserId: string | undefined;
  /** JSON. */
  readonly payload: string;
  readonly occurredAtMs: number;
}

export type RecordedChange = Pick<Change, 'eventId' | 'type' | 'conversationId' | 'payload' | 'occurredAtMs'> & {
  readonly position: number;
};

/** Which changes of one conversation a sync returns. */
export interface ChangeScope {
  readonly conversationId: string;
  /** Changes to messages in (afterSeq, throughSeq] are returned whenever they happened: those messages are news themselves. */
  readonly afterSeq: number;
  readonly throughSeq: number;
  /** Changes to anything else since then; undefined: none. */
  readonly sinceMs: number | undefined;
}

const columns = 'position, event_id, type, conversation_id, payload, occurred_at_ms';

export class ChangeStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  record(change: Change): void {
    // Not an UPDATE: the change takes a new position, behind everything that a running sync has already passed.
    this.forget(change.subject);
    this.#database.run(
      `INSERT INTO changes (subject, event_id, type, conversation_id, about_seq, about_user_id, payload, occurred_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        change.subject,
        change.eventId,
        change.type,
        change.conversationId,
        change.aboutSeq ?? null,
        change.aboutUserId ?? null,
        change.payload,
        change.occurredAtMs,
      ],
    );
  }

  forget(subject: string): void {
    this.#database.run('DELETE FROM changes WHERE subject = ?', [subject]);
  }

  /** The position of the newest change, 0 when there is none. */
  lastPosition(): number {
    const row = this.#database.get('SELECT coalesce(max(position), 0) AS position FROM changes');
    return row === undefined ? 0 : integer(row, 'position');
  }

  /** In the order in which they happened, with `afterPosition < position <= throughPosition`. */
  within(scopes: readonly ChangeScope[], afterPosition: number, throughPosition: number, maxChanges: number): RecordedChange[] {
    const scopesJson = JSON.stringify(scopes.map((s) => [s.conversationId, s.afterSeq, s.throughSeq, s.sinceMs ?? null]));
    return this.#database
      .all(
        `SELECT ${columns} FROM changes c
         JOIN (SELECT value ->> 0 AS id, value ->> 1 AS after_seq, value ->> 2 AS through_seq, value ->> 3 AS since_ms
               FROM json_each(?)) scope ON scope.id = c.conversation_id
         WHERE position > ? AND position <= ?
           AND (about_seq > after_seq AND about_seq <= through_seq OR occurred_at_ms >= since_ms)
         ORDER BY position LIMIT ?`,
        [scopesJson, afterPosition, throughPosition, maxChanges],
      )
      .map(toRecordedChange);
  }

  /** That somebody was taken out of conversations: no longer theirs to see, but theirs to know. */
  removalsOf(userId: string, sinceMs: number, throughPosition: number): RecordedChange[] {
    return this.#database
      .all(
        `SELECT ${columns} FROM changes c
         WHERE about_user_id = ?1 AND type = 'member.changed' AND occurred_at_ms >= ?2 AND position <= ?3
           AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = c.conversation_id AND m.user_id = ?1)
         ORDER BY position`,
        [userId, sinceMs, throughPosition],
      )
      .map(toRecordedChange);
  }
}

function toRecordedChange(row: Row): RecordedChange {
  return {
    position: integer(row, 'position'),
    eventId: text(row, 'event_id'),
    type: text(row, 'type'),
    conversationId: text(row, 'conversation_id'),
    payload: text(row, 'payload'),
    occurredAtMs: integer(row, 'occurred_at_ms'),
  };
}

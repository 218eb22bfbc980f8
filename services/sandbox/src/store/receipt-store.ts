import type { Database } from './database.js';
import { integer, text } from './row.js';

export type ReceiptKind = 'delivered' | 'read';

export interface Receipt {
  readonly userId: string;
  readonly kind: ReceiptKind;
  /** Everything up to this seq. */
  readonly seq: number;
}

/** How far each member has received and read; it only grows. */
export class ReceiptStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  of(conversationId: string): Receipt[] {
    return this.#database.all('SELECT user_id, kind, seq FROM receipts WHERE conversation_id = ?', [conversationId]).map((row) => ({
      userId: text(row, 'user_id'),
      kind: text(row, 'kind') === 'read' ? 'read' : 'delivered',
      seq: integer(row, 'seq'),
    }));
  }

  /** True when that was news. */
  raise(conversationId: string, { userId, kind, seq }: Receipt): boolean {
    const raised = this.#database.get(
      `INSERT INTO receipts VALUES (?, ?, ?, ?)
       ON CONFLICT (conversation_id, user_id, kind) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > seq RETURNING seq`,
      [conversationId, userId, kind, seq],
    );
    return raised !== undefined;
  }
}

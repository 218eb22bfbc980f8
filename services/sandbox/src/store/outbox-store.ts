import type { Database } from './database.js';
import { integer, text } from './row.js';

export interface OutboxRow {
  readonly position: number;
  /** What the publisher package made of it, as JSON. */
  readonly outgoing: string;
}

/** What the bus has yet to be told. Rows are added in the transaction of what they tell, and read in that order. */
export class OutboxStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(outgoing: string): void {
    this.#database.run('INSERT INTO outbox (outgoing) VALUES (?)', [outgoing]);
  }

  unsent(maxRows: number): OutboxRow[] {
    return this.#database
      .all('SELECT position, outgoing FROM outbox WHERE sent_at_ms IS NULL ORDER BY position LIMIT ?', [maxRows])
      .map((row) => ({ position: integer(row, 'position'), outgoing: text(row, 'outgoing') }));
  }

  unsentCount(): number {
    const row = this.#database.get('SELECT count(*) AS unsent FROM outbox WHERE sent_at_ms IS NULL');
    return row === undefined ? 0 : integer(row, 'unsent');
  }

  /** Everything up to a position is on the bus. Rows that were sent before `keepSinceMs` are dropped. */
  markSent(throughPosition: number, sentAtMs: number, keepSinceMs: number): void {
    this.#database.transaction(() => {
      this.#database.run('UPDATE outbox SET sent_at_ms = ? WHERE sent_at_ms IS NULL AND position <= ?', [sentAtMs, throughPosition]);
      this.#database.run('DELETE FROM outbox WHERE sent_at_ms < ?', [keepSinceMs]);
    });
  }
}

import type { Database } from './database.js';
import { text } from './row.js';

/** Plans of syncs that take several pages; see the schema. */
export class WalkStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(walkId: string, userId: string, plan: string, startedAtMs: number): void {
    this.#database.run('INSERT INTO sync_walks VALUES (?, ?, ?, ?)', [walkId, userId, plan, startedAtMs]);
  }

  /** The plan, if that walk was begun for that user and has not been reaped. */
  get(walkId: string, userId: string): string | undefined {
    const row = this.#database.get('SELECT plan FROM sync_walks WHERE walk_id = ? AND user_id = ?', [walkId, userId]);
    return row === undefined ? undefined : text(row, 'plan');
  }

  reap(startedBeforeMs: number): void {
    this.#database.run('DELETE FROM sync_walks WHERE started_at_ms < ?', [startedBeforeMs]);
  }
}

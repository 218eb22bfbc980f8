import type { Database } from './database.js';
import { optionalText, type Row, text } from './row.js';

export interface User {
  readonly userId: string;
  readonly displayName: string;
  readonly avatarUrl: string | undefined;
  readonly status: string | undefined;
}

export class UserStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(userId: string): User | undefined {
    const row = this.#database.get('SELECT * FROM users WHERE user_id = ?', [userId]);
    return row === undefined ? undefined : toUser(row);
  }

  list(): User[] {
    return this.#database.all('SELECT * FROM users ORDER BY display_name, user_id').map(toUser);
  }

  put({ userId, displayName, avatarUrl, status }: User): void {
    this.#database.run(
      `INSERT INTO users VALUES (?, ?, ?, ?)
       ON CONFLICT (user_id) DO UPDATE SET display_name = excluded.display_name, avatar_url = excluded.avatar_url, status = excluded.status`,
      [userId, displayName, avatarUrl ?? null, status ?? null],
    );
  }

  /** The user and everybody who shares a conversation with them. */
  acquaintances(userId: string): string[] {
    return this.#database
      .all(
        `SELECT ?1 AS user_id
         UNION SELECT theirs.user_id FROM members mine JOIN members theirs USING (conversation_id) WHERE mine.user_id = ?1`,
        [userId],
      )
      .map((row) => text(row, 'user_id'));
  }
}

function toUser(row: Row): User {
  return {
    userId: text(row, 'user_id'),
    displayName: text(row, 'display_name'),
    avatarUrl: optionalText(row, 'avatar_url'),
    status: optionalText(row, 'status'),
  };
}

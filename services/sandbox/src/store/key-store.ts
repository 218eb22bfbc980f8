import type { Database } from './database.js';
import { integer, optionalInteger, text } from './row.js';

export interface StoredKey {
  readonly kid: string;
  /** JWKs as JSON. */
  readonly privateJwk: string;
  readonly publicJwk: string;
  readonly createdAtMs: number;
  /** Signs nothing since then. */
  readonly retiredAtMs: number | undefined;
}

export class KeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Newest first. */
  list(): StoredKey[] {
    return this.#database.all('SELECT * FROM signing_keys ORDER BY created_at_ms DESC, rowid DESC').map((row) => ({
      kid: text(row, 'kid'),
      privateJwk: text(row, 'private_jwk'),
      publicJwk: text(row, 'public_jwk'),
      createdAtMs: integer(row, 'created_at_ms'),
      retiredAtMs: optionalInteger(row, 'retired_at_ms'),
    }));
  }

  /** The new key signs from now on; those before it are retired, and forgotten when they were retired before `forgetBeforeMs`. */
  rotate(key: Omit<StoredKey, 'retiredAtMs'>, forgetBeforeMs: number): void {
    this.#database.transaction(() => {
      this.#database.run('UPDATE signing_keys SET retired_at_ms = ? WHERE retired_at_ms IS NULL', [key.createdAtMs]);
      this.#database.run('DELETE FROM signing_keys WHERE retired_at_ms < ?', [forgetBeforeMs]);
      this.#database.run('INSERT INTO signing_keys (kid, private_jwk, public_jwk, created_at_ms) VALUES (?, ?, ?, ?)', [
        key.kid,
        key.privateJwk,
        key.publicJwk,
        key.createdAtMs,
      ]);
    });
  }
}

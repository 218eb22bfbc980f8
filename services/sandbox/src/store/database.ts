import sqlite from 'node-sqlite3-wasm';
import { takeDatabaseFile } from './database-file.js';
import type { Row, SqlValue } from './row.js';
import { SCHEMA } from './schema.js';

type Statement = ReturnType<InstanceType<typeof sqlite.Database>['prepare']>;

/**
 * The sandbox's only storage: one SQLite file, synchronous, owned by this process alone. What a transaction has committed survives
 * kill -9 and a power cut (write-ahead log, synchronised at each commit; about 0.3 ms).
 */
export class Database {
  readonly #path: string;
  readonly #statements = new Map<string, Statement>();
  readonly #onCommit: (() => void)[] = [];
  #connection: InstanceType<typeof sqlite.Database> | undefined;
  #release: (() => void) | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws DatabaseInUseError when another living process has the file open */
  open(): void {
    if (this.#connection !== undefined) return;
    this.#release = takeDatabaseFile(this.#path);
    this.#connection = new sqlite.Database(this.#path);
    // Exclusive first: without shared memory, a write-ahead log exists only for a single owner.
    this.#connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    this.#connection.exec(SCHEMA);
  }

  close(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.#connection?.close();
    this.#connection = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  run(sql: string, values: readonly SqlValue[] = []): void {
    this.#prepare(sql).run(bindable(values));
  }

  all(sql: string, values: readonly SqlValue[] = []): Row[] {
    return this.#prepare(sql).all(bindable(values)) as Row[];
  }

  /** The first row. (The library's own `get` leaves the statement in the middle of its rows, and no transaction could end.) */
  get(sql: string, values: readonly SqlValue[] = []): Row | undefined {
    return this.all(sql, values)[0];
  }

  /** All of `work` or nothing of it. Not nested: whoever begins a transaction is the one that decides what belongs together. */
  transaction<T>(work: () => T): T {
    this.#open().exec('BEGIN IMMEDIATE');
    let result: T;
    try {
      result = work();
      this.#open().exec('COMMIT');
    } catch (error) {
      if (this.#open().inTransaction) this.#open().exec('ROLLBACK');
      throw error;
    }
    for (const listener of this.#onCommit) listener();
    return result;
  }

  onCommit(listener: () => void): void {
    this.#onCommit.push(listener);
  }

  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#open().prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #open(): InstanceType<typeof sqlite.Database> {
    if (this.#connection === undefined) throw new Error('the database is not open');
    return this.#connection;
  }
}

/** The library ends a text at its first NUL: `alice\0x` would be found as `alice`. Callers let none through; this makes sure. */
function bindable(values: readonly SqlValue[]): SqlValue[] {
  if (values.some((value) => typeof value === 'string' && value.includes('\0'))) throw new TypeError('a text with NUL cannot be stored');
  return [...values];
}

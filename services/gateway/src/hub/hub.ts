import type { UserId } from '@event-gateway/protocol';
import type { Connection } from './connection.js';
import type { Matchable, RecipientIndex } from './match-recipients.js';
import { UserFilter } from './user-filter.js';

/** A user who has at least one connection here. */
export interface LocalUser extends Matchable {
  readonly userId: UserId;
  /** Oldest first. Whoever goes through them may close some: the list in hand keeps everybody who was in it. */
  readonly connections: readonly Connection[];
}

interface Entry extends LocalUser {
  connections: Connection[];
}

/** This replica's index of connections: who is here. */
export class Hub implements RecipientIndex<LocalUser> {
  readonly #users = new Map<string, Entry>();
  readonly #filter = new UserFilter();
  readonly #joined: ((userId: UserId) => void)[] = [];
  readonly #left: ((userId: UserId) => void)[] = [];
  #connectionCount = 0;

  get connectionCount(): number {
    return this.#connectionCount;
  }

  get userCount(): number {
    return this.#users.size;
  }

  /** Called with every user whose first connection has opened here. */
  onUserJoined(listener: (userId: UserId) => void): void {
    this.#joined.push(listener);
  }

  /** Called with every user whose last connection here has closed. */
  onUserLeft(listener: (userId: UserId) => void): void {
    this.#left.push(listener);
  }

  add(connection: Connection): void {
    this.#connectionCount++;
    const entry = this.#users.get(connection.userId);
    if (entry !== undefined) {
      entry.connections.push(connection);
      return;
    }
    this.#users.set(connection.userId, { userId: connection.userId, connections: [connection], matchStamp: 0 });
    this.#filter.add(Buffer.from(connection.userId));
    for (const listener of this.#joined) listener(connection.userId);
  }

  remove(connection: Connection): void {
    const entry = this.#users.get(connection.userId);
    if (entry === undefined || !entry.connections.includes(connection)) return;
    // A list of its own: somebody may be in the middle of the old one.
    entry.connections = entry.connections.filter((other) => other !== connection);
    this.#connectionCount--;
    if (entry.connections.length > 0) return;
    this.#users.delete(connection.userId);
    this.#filter.remove(Buffer.from(connection.userId));
    for (const listener of this.#left) listener(connection.userId);
  }

  /** Oldest first; see `LocalUser.connections`. */
  connectionsOf(userId: string): readonly Connection[] {
    return this.#users.get(userId)?.connections ?? [];
  }

  /** The user, if here. */
  get(userId: string): LocalUser | undefined {
    return this.#users.get(userId);
  }

  /** Whether the id in these bytes may be of a user who is here; "no" is certain. */
  mayHave(bytes: Uint8Array, start: number, end: number): boolean {
    return this.#filter.mayHave(bytes, start, end);
  }

  *users(): IterableIterator<UserId> {
    for (const entry of this.#users.values()) yield entry.userId;
  }

  *connections(): IterableIterator<Connection> {
    for (const entry of this.#users.values()) yield* entry.connections;
  }
}

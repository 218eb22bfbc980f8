import type { Clock } from '@event-gateway/runtime';
import { Refusal } from '../refusal.js';
import type { Database } from '../store/database.js';
import type { User, UserStore } from '../store/user-store.js';
import type { EventRecorder } from './event-recorder.js';
import { userBody } from './payloads.js';

export interface ProfileChanges {
  readonly displayName?: string;
  readonly avatarUrl?: string;
  readonly status?: string;
}

/** The user-service's part of the sandbox: who there is, and what they are called. */
export class Users {
  readonly #database: Database;
  readonly #users: UserStore;
  readonly #recorder: EventRecorder;
  readonly #clock: Clock;

  constructor(database: Database, users: UserStore, recorder: EventRecorder, clock: Clock) {
    this.#database = database;
    this.#users = users;
    this.#recorder = recorder;
    this.#clock = clock;
  }

  get(userId: string): User | Refusal {
    return this.#users.get(userId) ?? new Refusal('user_unknown', 'there is no such user');
  }

  list(): User[] {
    return this.#users.list();
  }

  /** Fields that are left out stay. */
  update(userId: string, changes: ProfileChanges): User | Refusal {
    const user = this.get(userId);
    return user instanceof Refusal ? user : this.put({ ...user, ...changes }).user;
  }

  /** Creates or replaces. A changed profile reaches every replica's cards, and everybody who may have the old name on a screen. */
  put(user: User): { user: User; isNew: boolean } {
    return this.#database.transaction(() => {
      const before = this.#users.get(user.userId);
      this.#users.put(user);
      if (before === undefined) {
        // Replicas may remember that this user did not exist.
        this.#recorder.userChanged(user);
        return { user, isNew: true };
      }
      if (before.displayName !== user.displayName || before.avatarUrl !== user.avatarUrl || before.status !== user.status) {
        this.#recorder.userChanged(user);
        const recipients = this.#users.acquaintances(user.userId);
        this.#recorder.happened({ type: 'user.updated', recipients, payload: userBody(user), atMs: this.#clock.wallMs() });
      }
      return { user, isNew: false };
    });
  }
}

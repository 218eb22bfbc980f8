import exec from 'k6/execution';
import { SharedArray } from 'k6/data';

/** One line of the file that USERS_FILE names: a JSON array, made by whoever issues tokens. */
export interface TestUser {
  readonly user_id: string;
  readonly token: string;
  /** A conversation that this user is in, with somebody else of the file. */
  readonly conversation_id: string;
}

const users = new SharedArray<TestUser>('users', () => JSON.parse(open(__ENV['USERS_FILE'] ?? './users.json')) as TestUser[]);

/** Every virtual user is somebody else, as long as the file has enough of them. */
export function ownUser(): TestUser {
  const user = users[(exec.vu.idInTest - 1) % users.length];
  if (user === undefined) throw new Error('USERS_FILE names nobody');
  return user;
}

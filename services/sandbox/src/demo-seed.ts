import type { Conversations } from './messenger/conversations.js';
import type { Messages } from './messenger/messages.js';
import type { Users } from './messenger/users.js';

const people = [
  { userId: 'alice', displayName: 'Alice', avatarUrl: '/page/avatars/alice.svg', status: undefined },
  { userId: 'bob', displayName: 'Bob', avatarUrl: '/page/avatars/bob.svg', status: undefined },
  { userId: 'carol', displayName: 'Carol', avatarUrl: '/page/avatars/carol.svg', status: undefined },
];
export const DEMO_DIRECT = 'alice-bob';
export const DEMO_GROUP = 'team';

/** Gives an empty database the people and conversations that the page shows. One with users is left as it is. */
export function seedDemo(users: Users, conversations: Conversations, messages: Messages): void {
  if (users.list().length > 0) return;
  for (const person of people) users.put(person);
  conversations.openDirect('alice', 'bob', DEMO_DIRECT);
  conversations.createGroup('alice', { title: 'Team', avatarUrl: undefined, memberIds: ['bob', 'carol'] }, DEMO_GROUP);
  messages.post('carol', DEMO_GROUP, { text: 'Morning! I am on a train today, talk to each other.', clientId: undefined });
  messages.post('bob', DEMO_DIRECT, { text: 'Hi Alice, shall we kill a replica?', clientId: undefined });
}

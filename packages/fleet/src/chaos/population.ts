import { SeededRandom } from '../tools/seeded-random.js';

export interface Conversation {
  readonly id: string;
  readonly type: 'direct' | 'group';
  readonly participants: readonly string[];
}

export interface Population {
  readonly users: readonly string[];
  readonly conversations: readonly Conversation[];
}

const userCount = 100;
const directCount = 40;
const groupCount = 20;

/** 100 users, each in a dialog or a group at least; nobody joins or leaves. */
export function populate(seed: number): Population {
  const random = new SeededRandom(seed ^ 0x5eed);
  const users = Array.from({ length: userCount }, (_, index) => `user-${index}`);
  const conversations: Conversation[] = [];
  for (let index = 0; index < directCount; index++) {
    conversations.push({ id: `direct-${index}`, type: 'direct', participants: random.shuffled(users).slice(0, 2) });
  }
  for (let index = 0; index < groupCount; index++) {
    conversations.push({ id: `group-${index}`, type: 'group', participants: random.shuffled(users).slice(0, random.integer(3, 12)) });
  }
  const lonely = users.filter((user) => !conversations.some(({ participants }) => participants.includes(user)));
  if (lonely.length > 0) conversations.push({ id: 'group-of-the-rest', type: 'group', participants: lonely });
  return { users, conversations };
}

export function conversationsOf({ conversations }: Population, userId: string): Conversation[] {
  return conversations.filter(({ participants }) => participants.includes(userId));
}

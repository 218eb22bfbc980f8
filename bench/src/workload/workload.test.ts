import { expect, test } from 'vitest';
import { firstAbsentUser, userId } from './user-id.js';
import { conversationsOf, eventsOf, type Workload } from './workload.js';

const workload: Workload = { seed: 5, name: 'c', conversations: 50, membersEach: 4, firstUser: 10, users: 20 };

test('the same workload is the same events, another seed is other ones', () => {
  expect(eventsOf(workload, 100)).toEqual(eventsOf(workload, 100));
  expect(eventsOf({ ...workload, seed: 6 }, 100)).not.toEqual(eventsOf(workload, 100));
});

test('every event goes to all members of its conversation, each of them once and one of them its sender', () => {
  const conversations = new Map(conversationsOf(workload).map(({ id, members }) => [id, members]));
  for (const { recipients, envelope } of eventsOf(workload, 200)) {
    expect(recipients).toEqual(conversations.get(envelope.conversation_id));
    expect(new Set(recipients).size).toBe(4);
    expect(recipients).toContain(envelope.payload['sender_id']);
  }
});

test('members are drawn from the users that the workload names', () => {
  const named = new Set(Array.from({ length: 20 }, (_, index) => userId(10 + index)));
  for (const { members } of conversationsOf(workload)) for (const member of members) expect(named).toContain(member);
  expect(userId(firstAbsentUser)).not.toBe(userId(0));
});

test('conversations that are visited once each come in their order', () => {
  const visited = eventsOf({ ...workload, visitsEachOnce: true }, 50).map(({ envelope }) => envelope.conversation_id);
  expect(visited).toEqual(conversationsOf(workload).map(({ id }) => id));
});

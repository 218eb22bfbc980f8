import { afterEach, beforeEach, expect, test } from 'vitest';
import { Messenger } from '../../src/chaos/messenger.js';
import type { Conversation, Population } from '../../src/chaos/population.js';

const one: Conversation = { id: 'one', type: 'group', participants: ['alice', 'bob'] };
const two: Conversation = { id: 'two', type: 'direct', participants: ['alice', 'carol'] };
const others: Conversation = { id: 'others', type: 'direct', participants: ['bob', 'carol'] };
const population: Population = { users: ['alice', 'bob', 'carol'], conversations: [one, two, others] };

let messenger: Messenger;
beforeEach(async () => {
  messenger = new Messenger(population);
  await messenger.server.start();
});
afterEach(async () => messenger.server.stop());

interface Page {
  readonly conversations: readonly Record<string, unknown>[];
  readonly events: readonly { readonly type: string; readonly payload: Record<string, unknown> }[];
  readonly next_page?: string;
}

async function sync(fields: Record<string, unknown>): Promise<Page> {
  const body = JSON.stringify({ user_id: 'alice', conversations: {}, ...fields });
  return (await (await fetch(`${messenger.server.url}/internal/sync`, { method: 'POST', body })).json()) as Page;
}

const idsOf = ({ events }: Page): unknown[] => events.map(({ payload }) => payload['id']);
const write = (conversation: Conversation, count: number): void => {
  for (let n = 0; n < count; n++) messenger.write(conversation);
};

test('a sync brings what lies above the seqs, of the user’s own conversations, and names all of them', async () => {
  write(one, 3);
  write(two, 2);
  write(others, 1);
  const page = await sync({ conversations: { one: 2 } });
  expect(idsOf(page)).toEqual(['one#3', 'two#1', 'two#2']);
  expect(page.conversations).toEqual([
    { conversation_id: 'one', type: 'group', title: 'Title of one', last_seq: 3 },
    { conversation_id: 'two', type: 'direct', peer_id: 'carol', last_seq: 2 },
  ]);
  expect(page.next_page).toBeUndefined();
});

test('pages go on where they were, whatever is written meanwhile', async () => {
  write(one, 50);
  write(two, 60);
  const got: unknown[] = [];
  let page = await sync({});
  for (got.push(...idsOf(page)); page.next_page !== undefined; got.push(...idsOf(page))) {
    write(one, 1); // it belongs to the page that ends this conversation, or to no page any more
    page = await sync({ page: page.next_page });
  }
  expect(new Set(got).size).toBe(got.length);
  expect(got.filter((id) => String(id).startsWith('two'))).toEqual(Array.from({ length: 60 }, (_, index) => `two#${index + 1}`));
  expect(got.slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, index) => `one#${index + 1}`));
});

test('edits come with a sync that says since when', async () => {
  write(one, 1);
  messenger.edit(one, 0);
  expect(idsOf(await sync({ conversations: { one: 1 } }))).toEqual([]);
  const { events } = await sync({ conversations: { one: 1 }, since_ms: Date.now() - 60_000 });
  expect(events).toMatchObject([{ type: 'message.edited', payload: { id: 'one#1', version: 1 } }]);
  expect((await sync({ conversations: { one: 1 }, since_ms: Date.now() + 60_000 })).events).toEqual([]);
});

test('what a user must have in the end: every message of every conversation, and the last version of each', () => {
  write(one, 2);
  write(others, 5);
  messenger.edit(one, 0);
  messenger.edit(one, 2);
  expect(messenger.expected('alice')).toEqual({
    lastSeqs: new Map([
      ['one', 2],
      ['two', 0],
    ]),
    versions: new Map([['one#1', 2]]),
  });
  expect(messenger.messageCount).toBe(7);
});

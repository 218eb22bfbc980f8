import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeOwners } from './fake-owners.js';

let owners: FakeOwners;

beforeEach(async () => {
  owners = await FakeOwners.start();
});

afterEach(async () => owners.stop());

async function get(url: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
}

const sync = async (body: unknown): Promise<unknown> =>
  (await fetch(`${owners.messenger.url}/internal/sync`, { method: 'POST', body: JSON.stringify(body) })).json();

test('users have a card unless it is taken away, conversations only when somebody made them', async () => {
  owners.name('alice', 'Alice');
  owners.users.set('ghost', undefined);
  owners.direct('a/b', 'alice', 'bob');
  expect(await get(`${owners.userService.url}/internal/users/alice/card`)).toMatchObject({ body: { display_name: 'Alice' } });
  expect(await get(`${owners.userService.url}/internal/users/bob/card`)).toMatchObject({ body: { display_name: 'Name of bob' } });
  expect(await get(`${owners.userService.url}/internal/users/ghost/card`)).toMatchObject({ status: 404 });
  expect(await get(`${owners.messenger.url}/internal/conversations/a%2Fb/card`)).toMatchObject({
    body: { participants: ['alice', 'bob'] },
  });
  expect(await get(`${owners.messenger.url}/internal/conversations/none/card`)).toMatchObject({ status: 404 });
  expect(owners.userService.count(/alice/)).toBe(1);
});

test('a sync brings what is above the seqs that are known, page by page', async () => {
  owners.group('team', ['alice', 'bob'], 'Team');
  owners.direct('dialog', 'alice', 'bob');
  for (const seq of [1, 2, 3, 4]) owners.store({ type: 'message.new', conversation_id: 'team', payload: { id: `m${seq}`, seq } });
  owners.syncPageEvents = 2;
  const first = await sync({ user_id: 'alice', conversations: { team: 1 } });
  expect(first).toMatchObject({
    conversations: [
      { conversation_id: 'team', type: 'group', title: 'Team', last_seq: 4 },
      { conversation_id: 'dialog', type: 'direct', peer_id: 'bob', last_seq: 0 },
    ],
    events: [{ payload: { seq: 2 } }, { payload: { seq: 3 } }],
    next_page: '2',
  });
  expect(await sync({ user_id: 'alice', conversations: { team: 1 }, page: '2' })).toMatchObject({ events: [{ payload: { seq: 4 } }] });
  expect(await sync({ user_id: 'mallory' })).toEqual({ conversations: [], events: [] });
});

test('faults: a status, a delay, a reset, an owner that is down and comes back on its port', async () => {
  const url = `${owners.userService.url}/internal/users/alice/card`;
  owners.userService.fault = { status: 500, delayMs: 30 };
  const startedMs = performance.now();
  expect((await get(url)).status).toBe(500);
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29);
  owners.userService.fault = ({ path }) => (path.includes('alice') ? { resets: true } : undefined);
  await expect(fetch(url)).rejects.toThrow();
  owners.userService.fault = undefined;
  await owners.userService.stop();
  await expect(fetch(url)).rejects.toThrow();
  await owners.userService.start();
  expect((await get(url)).status).toBe(200);
});

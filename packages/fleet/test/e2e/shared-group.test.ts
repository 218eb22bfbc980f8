import { expect, test } from 'vitest';
import { type Fleet, type RecordingClient, startFleet } from '../../src/index.js';

const users = ['alice', 'bob', 'carol', 'dave'];
const eventCount = 10;

/** Two users on each replica, then ten events for all of them; the payload numbers that each user's socket got. */
async function deliver(fleet: Fleet): Promise<Map<string, number[]>> {
  const clients: RecordingClient[] = [];
  for (const [index, user] of users.entries()) clients.push(await fleet.connect(user, { replica: fleet.replica(index % 2) }));
  let id = '';
  for (let n = 0; n < eventCount; n++) id = await fleet.publish({ type: 'news', recipients: users, payload: { n } });
  await fleet.untilHandled(id);
  await Promise.all(clients.map((client) => client.flush()));
  return new Map(
    clients.map((client, index) => [users[index] ?? '', client.ofType('news').map((frame) => Number(Object(frame['data'])['n']))]),
  );
}

const all = Array.from({ length: eventCount }, (_, n) => n);

// The incident that this product exists to prevent: two replicas in one consumer group share the events out among themselves, and
// whoever is connected to the other one never hears of them. Nothing fails, nothing is logged.
test('replicas that share a consumer group lose every event for the users of the other one', async () => {
  const fleet = await startFleet({ nginx: false, env: { UNSAFE_SHARED_GROUP: '1' } });
  try {
    const seen = await deliver(fleet);
    const [alice = [], bob = [], carol = [], dave = []] = users.map((user) => seen.get(user));
    expect(carol).toEqual(alice);
    expect(dave).toEqual(bob);
    expect([...alice, ...bob].sort((a, b) => a - b)).toEqual(all); // each event reached one half of the users, and nobody twice
    expect(alice.length + bob.length).toBe(eventCount);
  } finally {
    await fleet.stop();
  }
});

test('replicas with a group each lose nothing for anybody', async () => {
  const fleet = await startFleet({ nginx: false });
  try {
    expect(await deliver(fleet)).toEqual(new Map(users.map((user) => [user, all])));
  } finally {
    await fleet.stop();
  }
});

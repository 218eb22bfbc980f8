import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, type RecordedFrame, type RecordingClient, startFleet } from '../../src/index.js';

const users = Array.from({ length: 10 }, (_, index) => `user-${index}`);
const connectionsPerUser = 4;
const recipients = users.slice(0, 7);

let fleet: Fleet;
const clients = new Map<string, RecordingClient[]>();

const everyClient = (): RecordingClient[] => [...clients.values()].flat();
const clientsOf = (userId: string): RecordingClient[] => clients.get(userId) ?? [];
const replicaOf = (client: RecordingClient): unknown => client.ofType('hello')[0]?.['replica_id'];

/** Every frame but the connection's own: what the bus brought. */
const delivered = (client: RecordingClient): RecordedFrame[] => client.frames.filter(({ type }) => type !== 'hello' && type !== 'pong');

beforeAll(async () => {
  fleet = await startFleet();
  for (const user of users) fleet.owners.name(user, `Name of ${user}`);
  fleet.owners.group('team', users, 'Team');
  fleet.owners.direct('dialog', 'user-0', 'user-1');
  for (const user of users) {
    clients.set(user, await Promise.all(Array.from({ length: connectionsPerUser }, () => fleet.connect(user))));
  }
});

afterAll(async () => fleet.stop());

/** Publishes, waits until both groups have handled it and every socket has got what was written; the frames it caused, by user. */
async function publishAndCollect(
  event: Parameters<Fleet['publish']>[0],
): Promise<{ id: string; framesOf: (user: string) => RecordedFrame[][] }> {
  const before = new Map(everyClient().map((client) => [client, delivered(client).length]));
  const id = await fleet.publish(event);
  await fleet.untilHandled(id);
  await Promise.all(everyClient().map((client) => client.flush()));
  return { id, framesOf: (user) => clientsOf(user).map((client) => delivered(client).slice(before.get(client))) };
}

describe('40 connections of 10 users through nginx', () => {
  test('are spread over both replicas', () => {
    const replicas = everyClient().map(replicaOf);
    expect(replicas.filter((id) => id === 'gateway-1')).toHaveLength(20);
    expect(replicas.filter((id) => id === 'gateway-2')).toHaveLength(20);
  });

  test('one message in a group reaches every connection of every recipient exactly once, as the contract draws it', async () => {
    const { id, framesOf } = await publishAndCollect({
      type: 'message.new',
      conversation_id: 'team',
      event_id: 'e1',
      occurred_at: '2026-01-01T00:00:00Z',
      recipients,
      payload: { id: 'm1', seq: 1, sender_id: 'user-3', text: 'Hello' },
    });
    const frame = {
      type: 'message.new',
      cursor: id,
      conversation_id: 'team',
      event_id: 'e1',
      occurred_at: '2026-01-01T00:00:00Z',
      message: { id: 'm1', seq: 1, sender_id: 'user-3', text: 'Hello', sender_name: 'Name of user-3' },
      conversation: { type: 'group', title: 'Team' },
    };
    for (const user of recipients) expect(framesOf(user)).toEqual(Array.from({ length: connectionsPerUser }, () => [frame]));
    for (const user of users.slice(7)) expect(framesOf(user)).toEqual(Array.from({ length: connectionsPerUser }, () => []));
  });

  test('a direct dialog shows each side the other’s name', async () => {
    const { framesOf } = await publishAndCollect({
      type: 'message.new',
      conversation_id: 'dialog',
      recipients: ['user-0', 'user-1'],
      payload: { id: 'm2', seq: 1, sender_id: 'user-0', text: 'Hi' },
    });
    const conversations = (user: string): unknown[] => framesOf(user).map((frames) => frames.map((frame) => frame['conversation']));
    const titled = (title: string): unknown[] => Array.from({ length: connectionsPerUser }, () => [{ type: 'direct', title }]);
    expect(conversations('user-0')).toEqual(titled('Name of user-1'));
    expect(conversations('user-1')).toEqual(titled('Name of user-0'));
  });

  test('no frame names the recipients', async () => {
    await publishAndCollect({ type: 'something.else', recipients: users, payload: { any: 'thing' } });
    await publishAndCollect({ type: 'member.changed', conversation_id: 'team', recipients: users, payload: {} });
    for (const client of everyClient()) for (const text of client.texts) expect(text).not.toContain('recipients');
  });

  test('each replica has read every event through its own group', async () => {
    for (const replica of fleet.replicas) {
      const metrics = await replica.metrics();
      expect(metrics.value('gateway_stream_entries_total', { outcome: 'delivered' })).toBe(4);
      expect(metrics.value('gateway_connections')).toBe(20);
      expect(metrics.value('gateway_users')).toBeGreaterThanOrEqual(5);
    }
    const groups = JSON.stringify(await fleet.redis.call('XINFO', 'GROUPS', 'messenger.events'));
    expect(groups).toContain('"gateway-gateway-1"');
    expect(groups).toContain('"gateway-gateway-2"');
  });
});

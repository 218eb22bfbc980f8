import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import type { ConversationId, UserId } from '@event-gateway/protocol';
import { channels, RedisConnections } from '@event-gateway/redis';
import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Typing } from './typing.js';

let server: RedisServer;
const connections: RedisConnections[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(async () => {
  for (const redis of connections) redis.stop();
  await server.stop();
});

async function startReplica(users: readonly string[]): Promise<{ typing: Typing; frames: string[] }> {
  const redis = new RedisConnections({ url: server.url, commandTimeoutMs: 1000 }, systemClock, silentLogger);
  connections.push(redis);
  const frames: string[] = [];
  const cards = {
    user: () => ({ displayName: 'Alice' }),
    conversation: () => ({ participants: ['a', 'b'] as UserId[] }),
    warm: () => undefined,
  };
  const connectionsOf = (userId: UserId) =>
    users.includes(userId) ? [{ userId, writeEphemeral: (frame: string) => frames.push(`${userId} ${frame}`) }] : [];
  const typing = new Typing(
    { hub: { connectionsOf }, cards, redis: redis.command, metrics: new Metrics(), clock: systemClock, logger: silentLogger },
    { intervalMs: 2000 },
  );
  redis.subscriber.subscribe(channels.typing, (text) => typing.onMessage(text));
  redis.start();
  await redis.subscriber.whenSubscribed();
  await eventually(() => redis.command.isUp);
  return { typing, frames };
}

test('typing crosses replicas, skips the author’s devices there, and leaves no key behind', async () => {
  const first = await startReplica(['a']);
  const second = await startReplica(['a', 'b']);
  const [{ command }] = connections as [RedisConnections];
  const before = await command.call('KEYS', '*');
  const size = await command.call('DBSIZE');
  first.typing.onTyping({ userId: 'a' as UserId }, 'g1' as ConversationId);
  await eventually(() => expect(second.frames).toHaveLength(1));
  expect(second.frames[0]).toBe('b {"type":"typing","conversation_id":"g1","user_id":"a","user_name":"Alice"}');
  expect(first.frames).toEqual([]);
  expect(await command.call('KEYS', '*')).toEqual(before);
  expect(await command.call('DBSIZE')).toBe(size);
});

import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import type { ConversationId } from '@event-gateway/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { user } from './test/test-hub.js';
import { shortTimes, TestReplica, type TestReplicaOptions } from './test/test-replica.js';
import { TransitionLog } from './test/transition-log.js';

let server: RedisServer;
let log: TransitionLog;
let replicas: TestReplica[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

beforeEach(async () => {
  log = await new TransitionLog(server.url).start();
  await log.call('FLUSHALL');
});
afterEach(() => {
  for (const replica of replicas) replica.kill();
  replicas = [];
  log.stop();
});

async function start(id: string, options: Partial<TestReplicaOptions> = {}): Promise<TestReplica> {
  const replica = new TestReplica({ id, url: server.url, ...options });
  replicas.push(replica);
  return replica.start();
}

const direct = (a: string, b: string) => ({
  conversationId: `${a}-${b}` as ConversationId,
  type: 'direct' as const,
  participants: [user(a), user(b)],
});

test('smoke: online at once, offline once after the grace, the key lives between', async () => {
  const replica = await start('r0');
  replica.presence.learnConversation(direct('a', 'b'));
  const b = replica.connect(user('b'));
  replica.presence.learnConversation(direct('a', 'b'));
  const a = replica.connect(user('a'));
  await eventually(() => expect(log.of('a')).toEqual(['online']));
  await eventually(() => expect(b.told('a')).toEqual(['online']));
  expect(await log.call('ZRANGE', 'presence:a', 0, -1)).toEqual([expect.stringMatching(/^r0#\d+$/)]);
  const closedMs = Date.now();
  replica.hub.close(a);
  await eventually(() => expect(log.of('a')).toEqual(['online', 'offline']));
  expect(Date.now() - closedMs).toBeGreaterThanOrEqual(shortTimes.graceMs - 5);
  expect(await log.call('EXISTS', 'presence:a')).toBe(0);
  await eventually(() => expect(b.told('a')).toEqual(['online', 'offline']));
});

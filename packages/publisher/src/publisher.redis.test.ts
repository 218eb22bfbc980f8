import { createCommandConnection, RedisConnections } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../test/redis-server.js';
import { decodeOutgoing, encodeEvent, encodeUserInvalidation } from './outgoing.js';
import { InvalidEnvelopeError, PublishError } from './publish-error.js';
import { Publisher } from './publisher.js';

let server: RedisServer;
let redis: RedisConnections;
/** The machine may be busy. */
const patience = { timeout: 10_000 };
let heard: { channel: string; message: unknown }[];

const anEvent = (n: number) => ({ type: 'message.new', conversationId: 'c1', recipients: ['u1'], payload: { id: `m${n}`, seq: n } });

beforeAll(async () => {
  server = await startRedisServer();
  redis = new RedisConnections({ url: server.url, commandTimeoutMs: 2000 }, systemClock, silentLogger);
  for (const channel of ['user.updated', 'conversation.updated', 'member.changed', 'messenger.events']) {
    redis.subscriber.subscribe(channel, (text) => heard.push({ channel, message: JSON.parse(text) }));
  }
  redis.start();
  await redis.subscriber.whenSubscribed();
  await vi.waitUntil(() => redis.command.isUp, patience);
});

beforeEach(async () => {
  heard = [];
  await redis.command.call('FLUSHALL');
});

afterEach(() => vi.restoreAllMocks());

afterAll(async () => {
  redis.stop();
  await server.stop();
});

async function entries(stream = 'messenger.events'): Promise<[string, string[]][]> {
  return (await redis.command.call('XRANGE', stream, '-', '+')) as [string, string[]][];
}

test('publish writes one entry of two fields and resolves with its id', async () => {
  const id = await new Publisher(redis.command).publish(anEvent(1));
  expect(await entries()).toEqual([
    [id, ['recipients', '["u1"]', 'envelope', '{"type":"message.new","conversation_id":"c1","payload":{"id":"m1","seq":1}}']],
  ]);
});

test('publishMany keeps the order and resolves with the ids in that order', async () => {
  const ids = await new Publisher(redis.command).publishMany(Array.from({ length: 1234 }, (_, n) => anEvent(n)));
  const stored = await entries();
  expect(stored.map(([id]) => id)).toEqual(ids);
  expect(stored.map(([, fields]) => (JSON.parse(fields[3] ?? '') as { payload: { seq: number } }).payload.seq)).toEqual(
    ids.map((_, n) => n),
  );
});

test('publishMany sends nothing at all when one of the events is invalid', async () => {
  const events = [anEvent(1), { ...anEvent(2), type: 'pong' }];
  await expect(new Publisher(redis.command).publishMany(events)).rejects.toThrow(InvalidEnvelopeError);
  expect(await entries()).toEqual([]);
});

test('publishMany of nothing asks Redis for nothing', async () => {
  const pipeline = vi.spyOn(redis.command, 'pipeline');
  expect(await new Publisher(redis.command).publishMany([])).toEqual([]);
  expect(pipeline).not.toHaveBeenCalled();
});

test('many events are one round trip', async () => {
  const pipeline = vi.spyOn(redis.command, 'pipeline');
  await new Publisher(redis.command).publishMany(Array.from({ length: 500 }, (_, n) => anEvent(n)));
  expect(pipeline).toHaveBeenCalledTimes(1);
});

test('the stream is kept near its retention', async () => {
  const publisher = new Publisher(redis.command, { maxEntries: 200 });
  await publisher.publishMany(Array.from({ length: 2000 }, (_, n) => anEvent(n)));
  // Redis trims whole nodes of 100 entries.
  expect((await entries()).length).toBeLessThan(400);
  expect((await entries()).length).toBeGreaterThanOrEqual(200);
});

test('another stream can be named', async () => {
  await new Publisher(redis.command, { stream: 'other' }).publish(anEvent(1));
  expect(await entries('other')).toHaveLength(1);
});

test('with pub/sub the channel gets the envelope with its recipients inside, and no stream is written', async () => {
  const publisher = new Publisher(redis.command, { fanout: 'pubsub' });
  expect(await publisher.publishMany([anEvent(1), anEvent(2)])).toEqual([null, null]);
  await vi.waitUntil(() => heard.length === 2, patience);
  const message = { recipients: ['u1'], type: 'message.new', conversation_id: 'c1', payload: { id: 'm1', seq: 1 } };
  expect(heard[0]).toEqual({ channel: 'messenger.events', message });
  expect(await entries()).toEqual([]);
});

test('invalidations go over pub/sub in the words of the contract', async () => {
  const publisher = new Publisher(redis.command);
  await publisher.invalidateUser('u1');
  await publisher.invalidateUser('u1', { displayName: 'Ann', avatarUrl: 'https://a/1', status: 'away' });
  await publisher.invalidateConversation('c1');
  await publisher.memberChanged('c1');
  await vi.waitUntil(() => heard.length === 4, patience);
  expect(heard).toEqual([
    { channel: 'user.updated', message: { user_id: 'u1' } },
    {
      channel: 'user.updated',
      message: { user_id: 'u1', card: { user_id: 'u1', display_name: 'Ann', avatar_url: 'https://a/1', status: 'away' } },
    },
    { channel: 'conversation.updated', message: { conversation_id: 'c1' } },
    { channel: 'member.changed', message: { conversation_id: 'c1' } },
  ]);
});

test('an invalidation of something that is not an id is refused', async () => {
  const publisher = new Publisher(redis.command);
  await expect(publisher.invalidateUser('')).rejects.toThrow(InvalidEnvelopeError);
  await expect(publisher.invalidateConversation('a\u0000')).rejects.toThrow(InvalidEnvelopeError);
  await expect(publisher.memberChanged('')).rejects.toThrow(InvalidEnvelopeError);
});

test('what was stored as JSON in an outbox is sent as it was meant, in order', async () => {
  const rows = [encodeEvent(anEvent(1)), encodeUserInvalidation('u1'), encodeEvent(anEvent(2))].map((one) => JSON.stringify(one));
  const ids = await new Publisher(redis.command).send(rows.map(decodeOutgoing));
  expect(ids).toEqual([expect.any(String), null, expect.any(String)]);
  expect((await entries()).map(([id]) => id)).toEqual([ids[0], ids[2]]);
  await vi.waitUntil(() => heard.length === 1, patience);
});

test('a row of an outbox that holds something else is not sent as something else', () => {
  for (const row of ['null', '7', '{}', '{"kind":"event"}', '{"kind":"event","recipients":1,"envelope":""}', '{"kind":"x"}']) {
    expect(() => decodeOutgoing(row)).toThrow(TypeError);
  }
});

test('when Redis refuses one of many, none is on the stream, and the reason is told', async () => {
  await redis.command.call('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', '+@all', 'resetchannels');
  const url = server.url.replace('redis://', 'redis://mute:secret@');
  const mute = createCommandConnection({ url, commandTimeoutMs: 2000 }, systemClock, silentLogger, 'test');
  mute.start();
  await vi.waitUntil(() => mute.isUp, patience);
  const sending = new Publisher(mute).send([encodeEvent(anEvent(1)), encodeUserInvalidation('u1')]);
  await expect(sending).rejects.toThrow(PublishError);
  await expect(sending).rejects.toMatchObject({ retryable: true, cause: { message: expect.stringContaining('NOPERM') } });
  mute.stop();
  expect(await entries()).toEqual([]);
});

test('a command that Redis refuses only when it runs is an error too', async () => {
  await redis.command.call('SET', 'messenger.events', 'not a stream');
  const publisher = new Publisher(redis.command);
  await expect(publisher.publish(anEvent(1))).rejects.toThrow(PublishError);
  await expect(publisher.publishMany([anEvent(1), anEvent(2)])).rejects.toMatchObject({
    cause: { message: expect.stringContaining('WRONGTYPE') },
  });
});

test('without Redis publishing fails at once, as something to be tried again', async () => {
  const down = createCommandConnection({ url: 'redis://127.0.0.1:1', commandTimeoutMs: 500 }, systemClock, silentLogger, 'test');
  down.start();
  await expect(new Publisher(down).publish(anEvent(1))).rejects.toMatchObject({ code: 'PUBLISH_FAILED', retryable: true });
  down.stop();
});

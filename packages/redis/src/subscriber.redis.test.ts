import { type Logger, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, TestRedis } from '../test/redis-server.js';
import { slowLine } from '../test/slow-line.js';
import { RedisConnections } from './redis-connections.js';
import { decodeArray } from './stream-replies.js';

let redis: TestRedis;
let connections: RedisConnections;
let messages: string[];
let reconnects: number;
let lines: string[];

beforeEach(async () => {
  redis = await TestRedis.start();
  lines = [];
  const warn = (fields: object, message: string): void => {
    if ('connection' in fields) lines.push(`${fields.connection}: ${message}`);
  };
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  connections = new RedisConnections({ url: redis.url, commandTimeoutMs: 200 }, systemClock, logger);
  messages = [];
  reconnects = 0;
  connections.subscriber.subscribe('a', (text) => messages.push(`a:${text}`));
  connections.subscriber.subscribe('b', (text) => messages.push(`b:${text}`));
  connections.subscriber.onReconnected(() => reconnects++);
  connections.start();
  await connections.subscriber.whenSubscribed();
  await eventually(() => connections.command.isUp);
});

afterEach(async () => {
  connections.stop();
  await redis.stop();
});

const publish = (channel: string, text: string) => connections.command.call('PUBLISH', channel, text);

describe('the subscriber', () => {
  test('has confirmed every subscription when it says so', async () => {
    expect(await publish('a', '1')).toBe(1);
    expect(await publish('b', 'ж')).toBe(1);
    await eventually(() => messages.length === 2);
    expect(messages).toEqual(['a:1', 'b:ж']);
    expect(reconnects).toBe(0);
    expect(connections.isUp('subscriber')).toBe(true);
  });

  test('takes a subscription after the start, and several listeners of one channel', async () => {
    connections.subscriber.subscribe('late', (text) => messages.push(`late:${text}`));
    connections.subscriber.subscribeBytes('late', (bytes) => messages.push(`bytes:${bytes.length}`));
    await eventually(async () => (await publish('late', 'x')) === 1);
    await eventually(() => messages.length >= 2);
    expect(messages).toEqual(['late:x', 'bytes:1']);
    expect(reconnects).toBe(0);
  });

  test('takes subscriptions while others are being confirmed', async () => {
    let added = 0;
    const adding = setInterval(() => connections.subscriber.subscribe(`extra${added++}`, () => undefined), 0);
    connections.subscriber.onReconnected(() => clearInterval(adding));
    await redis.kill();
    await redis.run();
    await eventually(() => reconnects === 1);
    await eventually(() => connections.command.isUp);
    const subscribed = async () => decodeArray(await connections.command.call('PUBSUB', 'CHANNELS', 'extra*')).length;
    await eventually(async () => (await subscribed()) === added, 2000);
  });

  test('says that it reconnected once every subscription is confirmed on the new connection, once for one loss', async () => {
    let receiversThen: Promise<unknown> | undefined;
    connections.subscriber.onReconnected(() => {
      receiversThen = publish('b', 'after');
    });
    await connections.command.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(() => reconnects === 1);
    expect(await receiversThen).toBe(1);
    await eventually(() => messages.includes('b:after'));
    expect(reconnects).toBe(1);
  });

  test('says that it reconnected before it hands on anything from behind the loss, even when both come in one packet', async () => {
    const order: string[] = [];
    connections.subscriber.onReconnected(() => order.push('reconnected'));
    connections.subscriber.subscribe('a', () => order.push('message'));
    await connections.command.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // Published in the very step in which the subscription stands again.
    const publishWhenSubscribed = "if redis.call('PUBLISH', 'a', 'x') == 1 then return 1 end return 0";
    await eventually(async () => (await connections.command.call('EVAL', publishWhenSubscribed, 0)) === 1);
    await eventually(() => order.includes('message'));
    expect(order[0]).toBe('reconnected');
  });

  test('notices a Redis that has fallen silent, and reconnects when it is back', async () => {
    redis.pause();
    await eventually(() => !connections.isUp('subscriber'));
    redis.resume();
    await eventually(() => reconnects === 1);
    await eventually(() => connections.command.isUp);
    await publish('a', 'again');
    await eventually(() => messages.includes('a:again'));
  });

  test('does not take a flood of messages for silence: the answer to its PING waits behind them', async () => {
    const line = await slowLine(redis.port);
    const distant = new RedisConnections({ url: `redis://127.0.0.1:${line.port}`, commandTimeoutMs: 200 }, systemClock, silentLogger);
    let [received, losses] = [0, 0];
    distant.subscriber.subscribe('flood', () => received++);
    distant.subscriber.onReconnected(() => losses++);
    distant.start();
    await distant.subscriber.whenSubscribed();
    for (let count = 0; count < 14; count++) await publish('flood', 'x'.repeat(1_000_000));
    await eventually(() => received === 14);
    expect(losses).toBe(0);
    distant.stop();
    line.close();
  });

  test('that may not subscribe asks again ever more seldom, says what is wrong, and goes on once it may', async () => {
    const refusals = async () => Number(/cmdstat_subscribe:.*rejected_calls=(\d+)/.exec(String(await commandStats()))?.[1] ?? 0);
    const commandStats = () => connections.command.call('INFO', 'commandstats');
    await connections.command.call('ACL', 'SETUSER', 'default', '-subscribe');
    await connections.command.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => (await refusals()) >= 1);
    const refusedAtMs = performance.now();
    await eventually(async () => (await refusals()) >= 4, 6000);
    // Three times at least the shortest wait, where the client library by itself would have needed an eighth of a second.
    expect(performance.now() - refusedAtMs).toBeGreaterThan(500);
    expect(connections.isUp('subscriber')).toBe(false);
    expect(lines).toEqual(['subscriber: Redis refuses what a connection is for']);
    await connections.command.call('ACL', 'SETUSER', 'default', '+subscribe');
    await eventually(() => reconnects === 1, 6000);
    await publish('a', 'again');
    await eventually(() => messages.includes('a:again'));
  });

  test('subscribes again after a restart of Redis', async () => {
    await redis.kill();
    await redis.run();
    await eventually(() => reconnects === 1);
    await eventually(() => connections.command.isUp);
    await publish('a', 'again');
    await eventually(() => messages.includes('a:again'));
  });
});

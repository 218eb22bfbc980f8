import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { RedisConnections } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { groupRow, publish, stream } from '../../test/reading-replica.js';
import { GroupJanitor } from './group-janitor.js';

let server: RedisServer;
let connections: RedisConnections;

beforeAll(async () => {
  server = await startRedisServer();
  connections = new RedisConnections({ url: server.url, commandTimeoutMs: 1000 }, systemClock, silentLogger);
  connections.start();
  await eventually(() => connections.command.isUp);
});
beforeEach(async () => {
  await server.call('FLUSHALL');
  await publish(server, ['a']);
});
afterAll(async () => {
  connections.stop();
  await server.stop();
});

const janitor = (groupRetentionMs: number) =>
  new GroupJanitor(connections.command, systemClock, silentLogger, { stream, groupRetentionMs });
const group = (name: string) => server.call('XGROUP', 'CREATE', stream, name, 0);
/** The lease of that replica ended this long ago. */
const expired = (replicaId: string, agoMs: number) => server.call('ZADD', 'gateway.replicas', Date.now() - agoMs, replicaId);

describe('the group janitor', () => {
  test('destroys the group of a replica whose lease has been gone for the retention', async () => {
    await group('gateway-gone');
    await expired('gone', 10_000);
    await server.call('SET', 'gateway.reader:gone', 1);
    expect(await janitor(5000).sweep()).toEqual(['gone']);
    expect(await groupRow(server, 'gateway-gone')).toBeUndefined();
    expect(await server.call('EXISTS', 'gateway.reader:gone')).toBe(0);
    expect(await server.call('ZCARD', 'gateway.replicas')).toBe(0);
  });

  test('leaves those alone that live, that have not been gone for long, and that are no replica’s', async () => {
    for (const name of ['gateway-alive', 'gateway-recent', 'gateway-shared', 'notifications']) await group(name);
    await expired('alive', 10_000);
    await server.call('HSET', 'gateway.replica:alive', 'incarnation', 'x');
    await expired('recent', 1000);
    await expired('shared', 10_000);
    expect(await janitor(5000).sweep()).toEqual([]);
    for (const name of ['gateway-alive', 'gateway-recent', 'gateway-shared', 'notifications']) {
      expect(await groupRow(server, name)).toBeDefined();
    }
  });

  test('begins to count for a group that nobody knows', async () => {
    await group('gateway-unknown');
    expect(await janitor(200).sweep()).toEqual([]);
    await eventually(async () => expect(await janitor(200).sweep()).toEqual(['unknown']));
  });

  test('a group is destroyed once, whoever notices', async () => {
    await group('gateway-gone');
    await expired('gone', 10_000);
    const swept = await Promise.all([1, 2, 3].map(() => janitor(5000).sweep()));
    expect(swept.flat()).toEqual(['gone']);
  });

  test('does it by itself, and survives a stream that does not exist', async () => {
    await server.call('FLUSHALL');
    const working = janitor(100);
    working.start();
    await publish(server, ['a']);
    await group('gateway-gone');
    await expired('gone', 10_000);
    await eventually(async () => expect(await groupRow(server, 'gateway-gone')).toBeUndefined());
    await working.stop();
  });
});

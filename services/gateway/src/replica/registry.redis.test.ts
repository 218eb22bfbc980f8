import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { RedisReplyError } from '@event-gateway/redis';
import { FakeClock, type Logger, silentLogger } from '@event-gateway/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFencedReplica, type FencedReplica, type FencedReplicaOptions, startFenced } from '../../test/fenced-replica.js';
import { groupRow, publish } from '../../test/reading-replica.js';

let server: RedisServer;
const replicas: FencedReplica[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(() => server.call('FLUSHALL'));
afterEach(async () => {
  await server.call('ACL', 'SETUSER', 'default', '+@all');
  await Promise.all(replicas.splice(0).map((replica) => replica.die()));
});
afterAll(() => server.stop());

function start(replicaId: string, options?: FencedReplicaOptions): FencedReplica {
  const replica = createFencedReplica(server, replicaId, options);
  replicas.push(replica);
  return startFenced(replica);
}

async function ready(replicaId: string, options?: FencedReplicaOptions): Promise<FencedReplica> {
  const replica = start(replicaId, options);
  await eventually(() => replica.source.unreadyReasons().length === 0);
  return replica;
}

describe('the registry', () => {
  test('lists every living replica with its figures, and a dead one leaves with its lease', async () => {
    const figures = { connections: 3, users: 2, lagEntries: undefined, lagSeconds: 1.5, pending: 4, draining: true };
    const first = await ready('r1', { figures: () => figures });
    const second = await ready('r2');
    await eventually(async () => expect(await second.registry.list()).toHaveLength(2));
    const rows = await second.registry.list();
    expect(rows.find((row) => row.replica_id === 'r1')).toEqual({
      replica_id: 'r1',
      incarnation: first.incarnation,
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      connections: 3,
      users: 2,
      lag_entries: null,
      lag_seconds: 1.5,
      pending: 4,
      draining: true,
    });
    await first.die();
    await eventually(async () => expect((await second.registry.list()).map((row) => row.replica_id)).toEqual(['r2']));
  });

  test('has figures that are at most two seconds old, whatever the lease', async () => {
    let connections = 1;
    const replica = await ready('r1', {
      leaseTtlMs: 60_000,
      figures: () => ({ connections, users: 0, lagEntries: 0, lagSeconds: 0, pending: 0, draining: false }),
    });
    connections = 7;
    await eventually(async () => expect((await replica.registry.list())[0]?.connections).toBe(7), { timeoutMs: 2000 });
  });

  test('renews the lease, and takes it again after Redis has lost it', async () => {
    const replica = await ready('r1');
    await server.call('DEL', 'gateway.replica:r1');
    await eventually(async () => expect(await server.call('HGET', 'gateway.replica:r1', 'incarnation')).toBe(replica.incarnation));
    expect(replica.isFencedOut()).toBe(false);
  });

  test('leaves at a stop: the lease and the reader are gone, the group stays', async () => {
    const replica = await ready('r1');
    await replica.source.drain();
    await replica.registry.stop();
    expect(await server.call('EXISTS', 'gateway.replica:r1', 'gateway.reader:r1')).toBe(0);
    expect(await groupRow(server, 'gateway-r1')).toBeDefined();
    expect(replica.registry.isHeld).toBe(false);
  });

  test('takes its group along when ids never come back', async () => {
    const replica = await ready('r1', { destroysGroupOnStop: true });
    await replica.source.drain();
    await replica.registry.stop();
    expect(await groupRow(server, 'gateway-r1')).toBeUndefined();
    expect(await server.call('ZSCORE', 'gateway.replicas', 'r1')).toBeNull();
    expect(await server.call('EXISTS', 'gateway.canary:r1')).toBe(0);
  });

  test('without a fence is only a line in the list: two processes do not hurt each other', async () => {
    const [first, second] = [await ready('r1', { isFenced: false }), await ready('r1', { isFenced: false })];
    await eventually(async () => expect(await server.call('HGET', 'gateway.replica:r1', 'incarnation')).toBe(first.incarnation));
    await eventually(async () => expect(await server.call('HGET', 'gateway.replica:r1', 'incarnation')).toBe(second.incarnation));
    expect([first.isFencedOut(), second.isFencedOut()]).toEqual([false, false]);
  });
});

describe('the fence', () => {
  test('a second process with the id is not ready, reads nothing, and hurts nobody', async () => {
    const first = await ready('r1');
    const second = start('r1');
    const startedAtMs = performance.now();
    await publish(server, ['a']);
    await eventually(() => expect(first.handler.names).toEqual(['a']));
    await eventually(() => performance.now() - startedAtMs > 2500); // more than two leases
    expect(second.source.unreadyReasons()).toContain('fence');
    expect(second.handler.names).toEqual([]);
    expect(first.isFencedOut()).toBe(false);
    expect(first.source.unreadyReasons()).toEqual([]);
  });

  test('after kill -9 it takes over when the lease ends, and nothing is lost', async () => {
    const first = await ready('r1');
    const second = start('r1');
    await eventually(() => expect(second.source.unreadyReasons()).toContain('fence'));
    first.handler.hold();
    await publish(server, ['a', 'b']);
    await eventually(() => first.handler.isHandling);
    const dead = first.die();
    const diedAtMs = performance.now();
    await publish(server, ['c']);
    await eventually(() => second.source.unreadyReasons().length === 0);
    expect(performance.now() - diedAtMs).toBeLessThan(1000 + 600); // the lease, and a look
    await eventually(() => expect(second.handler.story).toEqual(['a', 'b', 'c']));
    await dead;
  });

  test('a fresh start after a stop in good order waits for nobody', async () => {
    const first = await ready('r1', { leaseTtlMs: 10_000 });
    await first.source.drain();
    await first.registry.stop();
    const startedAtMs = performance.now();
    await ready('r1', { leaseTtlMs: 10_000 });
    expect(performance.now() - startedAtMs).toBeLessThan(2500);
  });

  test('an outage of Redis longer than the lease does not let a duplicate kill the healthy one', async () => {
    const first = await ready('r1');
    const second = start('r1');
    await eventually(() => expect(second.source.unreadyReasons()).toContain('fence'));
    server.pause();
    const pausedAtMs = performance.now();
    await eventually(() => performance.now() - pausedAtMs > 2000); // two leases
    server.resume();
    await eventually(() => first.source.unreadyReasons().length === 0);
    const resumedAtMs = performance.now();
    await eventually(() => performance.now() - resumedAtMs > 1500);
    expect(first.isFencedOut()).toBe(false);
    expect(second.source.unreadyReasons()).toContain('fence');
    await publish(server, ['a']);
    await eventually(() => expect(first.handler.story).toEqual(['a']));
    expect(second.handler.names).toEqual([]);
  });

  test('a replica whose lease was taken while it was stopped is cut off before the successor reads, and reads nothing when it wakes', async () => {
    // A clock that stands still: it renews nothing and believes in its lease, while its reader is connected and blocks.
    const clock = new FakeClock();
    const first = start('r1', { registryClock: clock, readBlockMs: 30_000 });
    await eventually(async () => {
      if (!first.registry.isHeld) await clock.advance(50);
      return first.source.unreadyReasons().length === 0;
    });
    const stopped = String(await server.call('GET', 'gateway.reader:r1'));
    const successor = start('r1');
    await eventually(() => successor.source.unreadyReasons().length === 0);
    expect(String(await server.call('CLIENT', 'LIST'))).not.toMatch(new RegExp(`^id=${stopped} `, 'm'));
    await publish(server, ['a', 'b']);
    await eventually(() => expect(successor.handler.story).toEqual(['a', 'b']));
    await eventually(() => first.isFencedOut());
    expect(first.handler.names).toEqual([]);
  });

  test('a successor that may not cut a stopped predecessor off reads nothing, says so, and reads everything once it may', async () => {
    const clock = new FakeClock();
    const first = start('r1', { registryClock: clock, readBlockMs: 30_000 });
    await eventually(async () => {
      if (!first.registry.isHeld) await clock.advance(50);
      return first.source.unreadyReasons().length === 0;
    });
    await server.call('ACL', 'SETUSER', 'default', '-client|kill');
    const errors: unknown[] = [];
    const warn = (fields: object): void => void errors.push('error' in fields ? fields.error : undefined);
    const logger: Logger = { ...silentLogger, warn, child: () => logger };
    const successor = start('r1', { logger });
    await eventually(() => expect(errors).toContainEqual(expect.any(RedisReplyError)));
    expect(successor.source.unreadyReasons()).toContain('redis');
    await server.call('ACL', 'SETUSER', 'default', '+client|kill');
    await eventually(() => successor.source.unreadyReasons().length === 0);
    await publish(server, ['a', 'b']);
    await eventually(() => expect(successor.handler.story).toEqual(['a', 'b']));
    expect(first.handler.names).toEqual([]);
  });

  test('whoever is fenced out touches nothing in Redis, not even at its stop', async () => {
    const first = await ready('r1');
    await server.call('HSET', 'gateway.replica:r1', 'incarnation', 'successor');
    await eventually(() => first.isFencedOut());
    await server.call('SET', 'gateway.reader:r1', '4711');
    await first.source.drain();
    await first.registry.stop();
    expect(await server.call('HGET', 'gateway.replica:r1', 'incarnation')).toBe('successor');
    expect(await server.call('GET', 'gateway.reader:r1')).toBe('4711');
    await publish(server, ['a']);
    expect(first.handler.names).toEqual([]);
  });

  test('a stop that comes before it has noticed leaves the successor’s lease alone, too', async () => {
    const first = await ready('r1', { leaseTtlMs: 10_000, destroysGroupOnStop: true });
    await first.source.drain();
    await server.call('HSET', 'gateway.replica:r1', 'incarnation', 'successor');
    await first.registry.stop();
    expect(await server.call('HGET', 'gateway.replica:r1', 'incarnation')).toBe('successor');
    expect(await groupRow(server, 'gateway-r1')).toBeDefined();
  });

  test('stops reading by its own clock when the lease could not be confirmed, and goes on when it is', async () => {
    const first = await ready('r1');
    // The command connection is cut off for good, the reader is not: it confirms the lease itself.
    await server.call('ACL', 'SETUSER', 'default', '-hset');
    await eventually(() => !first.registry.isHeld);
    await publish(server, ['a']);
    expect(first.handler.names).toEqual([]);
    await server.call('ACL', 'SETUSER', 'default', '+hset');
    await eventually(() => expect(first.handler.names).toEqual(['a']));
    expect(first.isFencedOut()).toBe(false);
  });

  test('the client id of the reader outlives the lease', async () => {
    const replica = await ready('r1');
    const id = await server.call('GET', 'gateway.reader:r1');
    expect(String(await server.call('CLIENT', 'LIST', 'ID', String(id)))).toContain('name=gateway.reader:r1');
    expect(Number(await server.call('PTTL', 'gateway.reader:r1'))).toBeGreaterThan(3_500_000);
    await replica.die();
    await eventually(async () => expect(await server.call('EXISTS', 'gateway.replica:r1')).toBe(0));
    expect(await server.call('GET', 'gateway.reader:r1')).toBe(id);
  });

  // It was set when the reader connected and never again: after an hour of quiet nothing told of the predecessor any more.
  test('the client id of the reader lives on with every renewal, and is there again after Redis has lost it', async () => {
    await ready('r1');
    const id = await server.call('GET', 'gateway.reader:r1');
    await server.call('PEXPIRE', 'gateway.reader:r1', 5000);
    await eventually(async () => expect(Number(await server.call('PTTL', 'gateway.reader:r1'))).toBeGreaterThan(3_500_000));
    await server.call('DEL', 'gateway.reader:r1');
    await eventually(async () => expect(await server.call('GET', 'gateway.reader:r1')).toBe(id));
  });

  // It found Redis back without a lease and without a trace, a moment before the healthy replica did.
  test('a duplicate that was started while Redis was away leaves the healthy one the time to come back', async () => {
    const own = await startRedisServer();
    try {
      await own.kill();
      const duplicate = startFenced(createFencedReplica(own, 'r1', { leaseTtlMs: 10_000 }));
      replicas.push(duplicate);
      await eventually(() => duplicate.connections.command.hasBeenAway);
      await own.start();
      await eventually(() => duplicate.connections.isUp('command'));
      const backAtMs = performance.now();
      await eventually(() => performance.now() - backAtMs > 500); // some looks
      expect(duplicate.registry.isHeld).toBe(false);
      expect(await own.call('EXISTS', 'gateway.replica:r1')).toBe(0);
    } finally {
      await Promise.all(replicas.splice(0).map((replica) => replica.die()));
      await own.stop();
    }
  });

  test('does not cut a stranger whose client id was written down before Redis restarted', async () => {
    const stranger = String(await server.call('CLIENT', 'ID'));
    await server.call('SET', 'gateway.reader:r1', stranger);
    await ready('r1');
    expect(String(await server.call('CLIENT', 'ID'))).toBe(stranger);
  });
});

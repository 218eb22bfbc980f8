import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { compareStreamIds, type StreamId, streamIdMs } from '@event-gateway/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createReadingReplica,
  endReadingReplicas,
  groupRow,
  names,
  publish,
  type ReadingReplica,
  seriesOf,
  startReadingReplica,
  stream,
} from '../../test/reading-replica.js';

let server: RedisServer;

beforeEach(async () => {
  server = await startRedisServer();
});
afterEach(async () => {
  await endReadingReplicas();
  await server.stop();
});

const handledAll = (replica: ReadingReplica, expected: readonly string[]) =>
  eventually(() => expect(replica.handler.names).toEqual(expected));
const toldOnce = (replica: ReadingReplica) => eventually(() => expect(replica.handler.gaps).toHaveLength(1));
const lost = (replica: ReadingReplica) => seriesOf(replica.metrics, 'gateway_stream_gaps_total{reason="lost_writes"}');
const epoch = async (field: string) => server.call('HGET', `gateway.epoch:${stream}`, field);
/** The fleet's barrier, as soon as these replicas go by it too: a cursor is from a lost epoch exactly below it. */
async function barrierOf(...replicas: readonly ReadingReplica[]): Promise<StreamId> {
  return eventually(async () => {
    const barrier = (await epoch('barrier')) as StreamId;
    const before = `${streamIdMs(barrier) - 1}-0` as StreamId;
    for (const { source } of replicas) expect([before, barrier].map((id) => source.isFromLostEpoch(id))).toEqual([true, false]);
    return barrier;
  });
}

/** kill -9, and back with what was saved last. */
const restart = () => server.restart({ keepData: true });

describe('a Redis that may have lost writes', () => {
  test('an older snapshot: every replica notices although ids go on growing, and is told once, above everything it has read', async () => {
    const [first, second] = [await startReadingReplica(server, 'r1'), await startReadingReplica(server, 'r2')];
    await publish(server, ['kept']);
    await server.call('SAVE');
    const [, lostId] = await publish(server, ['lost1', 'lost2']);
    for (const replica of [first, second]) await handledAll(replica, ['kept', 'lost1', 'lost2']);
    await restart();
    for (const replica of [first, second]) await toldOnce(replica);
    await publish(server, ['after']);
    for (const replica of [first, second]) {
      await eventually(() => expect(replica.handler.story).toEqual(['kept', 'lost1', 'lost2', 'gap:gap', 'after']));
      expect(compareStreamIds(String(replica.handler.gaps[0]?.cursor), String(lostId))).toBeGreaterThanOrEqual(0);
      expect(await barrierOf(replica)).toBe(replica.handler.gaps[0]?.cursor);
      expect(await lost(replica)).toBe(1);
      await eventually(async () => expect(await groupRow(server, replica.group)).toMatchObject({ pending: 0, lag: 0 }));
    }
    expect(first.handler.gaps).toEqual(second.handler.gaps);
  });

  test('with all its data back it is told as well: nobody can know that nothing is missing', async () => {
    const replica = await startReadingReplica(server, 'r1');
    await publish(server, ['a']);
    await handledAll(replica, ['a']);
    await server.call('SAVE');
    await restart();
    await toldOnce(replica);
    await publish(server, ['b']);
    await eventually(() => expect(replica.handler.story).toEqual(['a', 'gap:gap', 'b']));
  });

  test('with no data at all: group and stream are made anew, once for one loss', async () => {
    const [first, second] = [await startReadingReplica(server, 'r1'), await startReadingReplica(server, 'r2')];
    await publish(server, ['a']);
    for (const replica of [first, second]) await handledAll(replica, ['a']);
    await server.restart({ keepData: false });
    for (const replica of [first, second]) await toldOnce(replica);
    await publish(server, ['b']);
    for (const replica of [first, second]) await eventually(() => expect(replica.handler.story).toEqual(['a', 'gap:gap', 'b']));
    expect(await seriesOf(first.metrics, 'gateway_stream_gaps_total{reason="group_lost"}')).toBe(0);
  });

  test('FLUSHALL by the same process: the epoch is gone although it was known', async () => {
    const [first, second] = [await startReadingReplica(server, 'r1'), await startReadingReplica(server, 'r2')];
    await publish(server, ['a']);
    for (const replica of [first, second]) await handledAll(replica, ['a']);
    const known = await epoch('id');
    await server.call('FLUSHALL');
    for (const replica of [first, second]) await toldOnce(replica);
    await publish(server, ['b']);
    for (const replica of [first, second]) await eventually(() => expect(replica.handler.story).toEqual(['a', 'gap:gap', 'b']));
    expect(await epoch('id')).not.toBe(known);
    await barrierOf(first, second);
  });

  test('a fresh replica that comes first raises the barrier for everybody', async () => {
    const old = await startReadingReplica(server, 'r1');
    const ids = await publish(server, ['a', 'b']);
    await handledAll(old, ['a', 'b']);
    await old.kill();
    await server.call('SAVE');
    await restart();
    const fresh = await startReadingReplica(server, 'r9');
    const barrier = await barrierOf(fresh);
    expect(compareStreamIds(barrier, String(ids[1]))).toBeGreaterThan(0);
    expect(fresh.handler.gaps).toEqual([]);
    // Whatever is published from now on lies above it, and the tail goes back to it only.
    const [id] = await publish(server, ['c']);
    await handledAll(fresh, ['c']);
    expect(compareStreamIds(String(id), barrier)).toBeGreaterThan(0);
    expect(fresh.handler.tail).toEqual([]);
    const back = await startReadingReplica(server, 'r1');
    expect(await barrierOf(back, fresh)).toBe(barrier);
    expect(compareStreamIds(String(back.handler.tailStart), barrier)).toBeGreaterThanOrEqual(0);
  });

  // The later one may have read on from a Redis that took writes after the other had left it: nobody here has seen those.
  test('the barrier rises above what a later one had read: no id is given twice, and the one that came first tells once more', async () => {
    const far = await startReadingReplica(server, 'r1');
    await server.call('SAVE');
    // Entries of a host whose clock is an hour ahead.
    const ahead = `${Date.now() + 3_600_000}-0`;
    await server.call('XADD', stream, ahead, 'envelope', 'ahead');
    await handledAll(far, ['ahead']);
    far.handler.hold();
    const ahead2 = `${Date.now() + 3_600_001}-0`;
    await server.call('XADD', stream, ahead2, 'envelope', 'ahead2');
    await eventually(() => far.handler.isHandling);
    await restart();
    // It does not know of those entries, and begins the new epoch at the present time.
    const near = await startReadingReplica(server, 'r2');
    expect(compareStreamIds(await barrierOf(near), ahead)).toBeLessThan(0);
    far.handler.release();
    await toldOnce(far);
    const barrier = await barrierOf(far);
    expect(compareStreamIds(barrier, ahead2)).toBeGreaterThanOrEqual(0);
    // In stream order: before what is added behind the barrier, however soon that comes.
    const [id] = await publish(server, ['after']);
    expect(compareStreamIds(String(id), barrier)).toBeGreaterThan(0);
    await eventually(() => expect(far.handler.names.at(-1)).toBe('after'));
    await eventually(() => expect(near.handler.story).toEqual(['gap:gap', 'after']));
    expect(await barrierOf(near, far)).toBe(barrier);
    expect(near.handler.gaps[0]?.cursor).toBe(barrier);
  });

  // A failover and back to a master that had not yet been told of the first one.
  test('an epoch that was itself forgotten is noticed by those who knew it', async () => {
    const replica = await startReadingReplica(server, 'r1');
    const key = `gateway.epoch:${stream}`;
    const before = (await server.call('HGETALL', key)) as string[];
    await server.call('DEL', key);
    await toldOnce(replica);
    const known = await barrierOf(replica);
    await server.call('DEL', key);
    await server.call('HSET', key, ...before);
    await eventually(() => expect(replica.handler.gaps).toHaveLength(2));
    expect(await epoch('id')).not.toBe(before[before.indexOf('id') + 1]);
    expect(compareStreamIds(await barrierOf(replica), known)).toBeGreaterThanOrEqual(0);
  });

  test('a stream that began anew below the barrier is read by those who start later, too', async () => {
    const replica = await startReadingReplica(server, 'r1');
    await server.call('DEL', `gateway.epoch:${stream}`);
    await toldOnce(replica);
    await server.call('DEL', stream);
    await eventually(() => expect(replica.handler.gaps).toHaveLength(2));
    await server.call('XADD', stream, '5-1', 'envelope', 'x');
    await handledAll(replica, ['x']);
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    await replica.kill();
    await server.call('XADD', stream, '5-2', 'envelope', 'y');
    const again = await startReadingReplica(server, 'r1', { backlogMaxAgeMs: Date.now() + 60_000 });
    await handledAll(again, ['y']);
    expect(again.handler.gaps).toEqual([]);
  });

  test('a change of epoch is noticed within two seconds even when the connection is not hurt', async () => {
    const replica = await startReadingReplica(server, 'r1');
    await server.call('DEL', `gateway.epoch:${stream}`);
    const startedAtMs = performance.now();
    await toldOnce(replica);
    expect(performance.now() - startedAtMs).toBeLessThan(2000);
  });

  test('a pause of Redis is no loss', async () => {
    const replica = await startReadingReplica(server, 'r1');
    server.pause();
    await eventually(() => replica.source.unreadyReasons().includes('redis'));
    server.resume();
    await eventually(() => replica.source.unreadyReasons().length === 0);
    await publish(server, ['a']);
    await handledAll(replica, ['a']);
    expect(replica.handler.gaps).toEqual([]);
  });
});

describe('the first epoch of a fleet', () => {
  test('moves nothing: an empty stream stays at 0-0, and cursors are good from the moment it began', async () => {
    const startedAtMs = Date.now();
    const replica = await startReadingReplica(server, 'r1');
    expect(replica.handler.tailStart).toBe('0-0');
    expect(await server.call('XINFO', 'STREAM', stream)).toContain('0-0');
    const barrier = await barrierOf(replica);
    expect(streamIdMs(barrier)).toBeGreaterThanOrEqual(startedAtMs - 1000);
    const [id] = await publish(server, ['a']);
    expect(compareStreamIds(String(id), barrier)).toBeGreaterThan(0);
  });

  test('on a stream that is there already, what it holds may be resumed from', async () => {
    const ids = await publish(server, names('e', 10));
    const replica = await startReadingReplica(server, 'r1');
    expect(replica.handler.tail).toEqual(names('e', 10));
    expect(ids.map((id) => replica.source.isFromLostEpoch(id))).not.toContain(true);
    expect(replica.source.isFromLostEpoch(`${Number.parseInt(String(ids[0]), 10) - 1000}-0` as StreamId)).toBe(true);
  });
});

test('what the stream ends with is asked again for a moment while Redis does not answer, and given up then', async () => {
  const replica = await startReadingReplica(server, 'r1');
  const [id] = await publish(server, ['a']);
  server.pause();
  const asked = replica.source.whoIsLast();
  await eventually(() => expect(replica.connections.isUp('command')).toBe(false));
  server.resume();
  expect(await asked).toBe(id);
  server.pause();
  expect(await replica.source.whoIsLast()).toBeUndefined();
  server.resume();
});

test('Redis away at the start: it waits, and reads when Redis comes', async () => {
  await server.kill();
  const replica = createReadingReplica(server, 'r1');
  replica.connections.start();
  replica.source.start();
  await eventually(() => expect(replica.source.unreadyReasons()).toEqual(['redis']));
  expect(replica.handler.tailStart).toBeUndefined();
  expect(await replica.source.whoIsLast()).toBeUndefined();
  await server.start();
  await eventually(() => replica.source.unreadyReasons().length === 0);
  const [id] = await publish(server, ['a']);
  await handledAll(replica, ['a']);
  expect(await replica.source.whoIsLast()).toBe(id);
});

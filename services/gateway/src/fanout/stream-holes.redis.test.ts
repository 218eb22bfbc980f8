import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { compareStreamIds, type StreamId, streamIdMs } from '@event-gateway/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  endReadingReplicas,
  groupRow,
  killReader,
  names,
  publish,
  type ReadingReplica,
  seriesOf,
  startReadingReplica,
  stream,
} from '../../test/reading-replica.js';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(async () => {
  await server.call('FLUSHALL');
});
afterEach(endReadingReplicas);
afterAll(() => server.stop());

/** A replica that is inside `handle` with its first entry, so that whatever happens next happens behind it. */
async function busyReplica(replicaId = 'r1'): Promise<ReadingReplica> {
  const replica = await startReadingReplica(server, replicaId);
  replica.handler.hold();
  await publish(server, ['first']);
  await eventually(() => replica.handler.isHandling);
  return replica;
}

const gapsTotal = (replica: ReadingReplica, reason: string) => seriesOf(replica.metrics, `gateway_stream_gaps_total{reason="${reason}"}`);

describe('trimming', () => {
  test('of unread entries is told before the first one from behind the hole, with a cursor right below it', async () => {
    const replica = await busyReplica();
    const ids = await publish(server, names('e', 100));
    await server.call('XTRIM', stream, 'MAXLEN', 10);
    replica.handler.release();
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:trimmed', ...names('e', 100).slice(90)]));
    const [gap] = replica.handler.gaps;
    expect(compareStreamIds(String(gap?.cursor), String(ids[89]))).toBeGreaterThanOrEqual(0);
    expect(compareStreamIds(String(gap?.cursor), String(ids[90]))).toBeLessThan(0);
    expect(await gapsTotal(replica, 'trimmed')).toBe(1);
  });

  test('of everything that was read, and nothing else, is no hole', async () => {
    const replica = await busyReplica();
    replica.handler.release();
    for (const round of [1, 2, 3]) {
      await publish(server, [`a${round}`, `b${round}`]);
      await eventually(() => expect(replica.handler.names.at(-1)).toBe(`b${round}`));
      await server.call('XTRIM', stream, 'MAXLEN', 0);
    }
    expect(replica.handler.gaps).toEqual([]);
  });

  test('that stops exactly behind the last handled entry is no hole', async () => {
    const replica = await busyReplica();
    await publish(server, names('e', 20));
    await server.call('XTRIM', stream, 'MAXLEN', 20);
    replica.handler.release();
    await eventually(() => expect(replica.handler.story).toEqual(['first', ...names('e', 20)]));
  });

  test('of one unread entry is a hole', async () => {
    const replica = await busyReplica();
    await publish(server, names('e', 20));
    await server.call('XTRIM', stream, 'MAXLEN', 19);
    replica.handler.release();
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:trimmed', ...names('e', 20).slice(1)]));
  });

  test('of everything unread is told although nothing comes after it', async () => {
    const replica = await busyReplica();
    const ids = await publish(server, names('e', 20));
    await server.call('XTRIM', stream, 'MAXLEN', 0);
    replica.handler.release();
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:trimmed']));
    expect(replica.handler.gaps[0]?.cursor).toBe(ids.at(-1));
    await publish(server, ['next']);
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:trimmed', 'next']));
  });

  test('after a first hole is proven as before, and the lag of Redis is right again', async () => {
    const replica = await busyReplica();
    await publish(server, names('e', 100));
    await server.call('XTRIM', stream, 'MAXLEN', 5);
    replica.handler.release();
    await eventually(() => expect(replica.handler.names).toHaveLength(6));
    await eventually(async () => expect(await groupRow(server, 'gateway-r1')).toMatchObject({ lag: 0, pending: 0, entriesRead: 101 }));
    replica.handler.hold();
    await publish(server, ['second']);
    await eventually(() => replica.handler.isHandling);
    await publish(server, names('f', 20));
    await server.call('XTRIM', stream, 'MAXLEN', 20);
    replica.handler.release();
    await eventually(() => expect(replica.handler.names.at(-1)).toBe('f19'));
    expect(replica.handler.gaps).toHaveLength(1);
  });

  test('while the connection was broken is told as well', async () => {
    const replica = await busyReplica();
    await publish(server, names('e', 20));
    await server.call('XTRIM', stream, 'MAXLEN', 5);
    await killReader(server, 'r1');
    replica.handler.release();
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:trimmed', ...names('e', 20).slice(15)]));
  });

  test('while the process was down is told to the next one', async () => {
    const before = await startReadingReplica(server, 'r1');
    await publish(server, ['a']);
    await eventually(() => expect(before.handler.names).toEqual(['a']));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    await before.kill();
    await publish(server, names('e', 20));
    await server.call('XTRIM', stream, 'MAXLEN', 5);
    const { handler } = await startReadingReplica(server, 'r1');
    await eventually(() => expect(handler.story).toEqual(['gap:trimmed', ...names('e', 20).slice(15)]));
  });

  test('while the process was down, of what it had handled only, is no hole', async () => {
    const before = await startReadingReplica(server, 'r1');
    await publish(server, names('a', 10));
    await eventually(() => expect(before.handler.names).toHaveLength(10));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    await before.kill();
    await publish(server, names('e', 5));
    await server.call('XTRIM', stream, 'MAXLEN', 5);
    const { handler } = await startReadingReplica(server, 'r1');
    await eventually(() => expect(handler.story).toEqual(names('e', 5)));
  });

  test('is not confused by entries that someone deleted from the middle', async () => {
    const replica = await busyReplica();
    const ids = await publish(server, names('e', 10));
    await server.call('XDEL', stream, String(ids[3]));
    replica.handler.release();
    await eventually(() => expect(replica.handler.names).toHaveLength(10));
    await publish(server, ['next']);
    await eventually(() => expect(replica.handler.names.at(-1)).toBe('next'));
    await server.call('XDEL', stream, String(ids[9]));
    await publish(server, ['last']);
    await eventually(() => expect(replica.handler.names.at(-1)).toBe('last'));
    expect(replica.handler.gaps).toEqual([]);
  });

  test('costs no round trip to prove: one read, one proof, one acknowledgement for a batch', async () => {
    const { handler } = await startReadingReplica(server, 'r1', { readBlockMs: 5000 });
    await publish(server, ['warm']);
    await eventually(() => expect(handler.names).toEqual(['warm']));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    await server.call('CONFIG', 'RESETSTAT');
    await publish(server, names('e', 10));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    expect(handler.names).toHaveLength(11);
    const stats = String(await server.call('INFO', 'commandstats'));
    expect(stats).toMatch(/cmdstat_xreadgroup:calls=[12],/);
    expect(stats).toMatch(/cmdstat_xack:calls=1,/);
  });
});

describe('a stream that begins anew', () => {
  test('under lower ids is read from its beginning, told once, and cursors from before are not resumed', async () => {
    const replica = await busyReplica();
    replica.handler.release();
    await eventually(() => expect(replica.handler.names).toEqual(['first']));
    const [last = ''] = replica.handler.ids;
    await server.call('MULTI');
    await server.call('DEL', stream);
    for (const [id, name] of [
      ['5-1', 'x'],
      ['5-2', 'y'],
    ])
      await server.call('XADD', stream, String(id), 'envelope', String(name));
    await server.call('EXEC');
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:gap', 'x', 'y']));
    expect(replica.handler.gaps).toEqual([{ reason: 'gap', cursor: '0-0', isDataLost: true }]);
    expect(replica.handler.ids).toEqual([last, '5-1', '5-2']);
    const cursors = [last, `${streamIdMs(last) + 1}-0`] as StreamId[];
    expect(cursors.map((cursor) => replica.source.isFromLostEpoch(cursor))).toEqual([true, false]);
    expect(await gapsTotal(replica, 'stream_reset')).toBe(1);
    await server.call('XADD', stream, '5-3', 'envelope', 'z');
    await eventually(() => expect(replica.handler.names.at(-1)).toBe('z'));
    await eventually(async () => expect(await groupRow(server, 'gateway-r1')).toMatchObject({ pending: 0, lag: 0 }));
  });

  test('under higher ids is told as well: what was in the old one is gone', async () => {
    const replica = await busyReplica();
    const [lost = ''] = await publish(server, ['lost']);
    await server.call('DEL', stream);
    // Within the same millisecond the new stream would give the old one's ids again.
    const laterMs = Number(lost.split('-')[0]) + 1;
    for (const name of ['x', 'y']) await server.call('XADD', stream, `${laterMs}-*`, 'envelope', name);
    replica.handler.release();
    await eventually(() => expect(replica.handler.names.slice(-2)).toEqual(['x', 'y']));
    expect(replica.handler.gaps.length).toBe(1);
  });

  test('is gone altogether: told, and what comes next is read', async () => {
    const replica = await busyReplica();
    replica.handler.release();
    await server.call('DEL', stream);
    await eventually(() => expect(replica.handler.story).toEqual(['first', 'gap:gap']));
    await publish(server, ['x']);
    await eventually(() => expect(replica.handler.names.at(-1)).toBe('x'));
    expect(replica.handler.gaps).toHaveLength(1);
  });
});

describe('the old backlog at a start', () => {
  const old = (index: number) => `${Date.now() - 600_000}-${index}`;

  async function leaveBehind(pending: number): Promise<void> {
    const before = await startReadingReplica(server, 'r1');
    await before.kill();
    for (let index = 0; index < 30; index++) await server.call('XADD', stream, old(index), 'envelope', `old${index}`);
    if (pending > 0) await server.call('XREADGROUP', 'GROUP', 'gateway-r1', 'worker', 'COUNT', pending, 'STREAMS', stream, '>');
  }

  test.each([0, 10])('is skipped and counted, with %i of it pending; reading begins at the cut', async (pending) => {
    await leaveBehind(pending);
    await publish(server, names('new', 5));
    const { handler, source } = await startReadingReplica(server, 'r1', { backlogMaxAgeMs: 300_000 });
    await eventually(() => expect(handler.story).toEqual(names('new', 5)));
    expect(handler.skippedCount).toBe(30);
    expect(handler.tail).toEqual([]);
    expect(compareStreamIds(String(handler.tailStart), old(29))).toBeGreaterThan(0);
    await eventually(async () => expect(await groupRow(server, 'gateway-r1')).toMatchObject({ pending: 0, lag: 0, entriesRead: 35 }));
    expect(source.unreadyReasons()).toEqual([]);
  });

  test('that is all there is leaves the position at the end of the stream', async () => {
    await leaveBehind(30);
    const { handler } = await startReadingReplica(server, 'r1');
    expect(handler.skippedCount).toBe(30);
    await server.call('XTRIM', stream, 'MAXLEN', 0);
    await publish(server, ['new']);
    await eventually(() => expect(handler.story).toEqual(['new']));
  });

  test('that is young enough is delivered, and the replica is not ready before it is', async () => {
    const before = await startReadingReplica(server, 'r1');
    await before.kill();
    await publish(server, names('e', 100));
    const { handler } = await startReadingReplica(server, 'r1');
    expect(handler.names.length).toBeGreaterThan(80);
    await eventually(() => expect(handler.names).toEqual(names('e', 100)));
    expect(handler.skippedCount).toBe(0);
  });
});

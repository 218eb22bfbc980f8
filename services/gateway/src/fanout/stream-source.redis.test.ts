import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createReadingReplica,
  endReadingReplicas,
  groupRow,
  killReader,
  names,
  publish,
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

/** Takes entries away like a read whose answer never arrives: delivered to the consumer, pending, unknown to the replica. */
const readAway = (count: number) => server.call('XREADGROUP', 'GROUP', 'gateway-r1', 'worker', 'COUNT', count, 'STREAMS', stream, '>');

describe('groups', () => {
  test('a new replica id begins at the end of the stream, in a group of its own', async () => {
    const old = await publish(server, ['old1', 'old2']);
    const { handler, group } = await startReadingReplica(server, 'r1');
    await publish(server, ['new']);
    await eventually(() => expect(handler.names).toEqual(['new']));
    expect(group).toBe('gateway-r1');
    expect(handler.tailStart).toBe(old[1]);
  });

  test('an empty stream is position 0-0', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    expect(handler.tailStart).toBe('0-0');
  });

  test('an existing group goes on where it was: first what is pending, then what is new', async () => {
    const first = await startReadingReplica(server, 'r1');
    await publish(server, ['a']);
    await eventually(() => expect(first.handler.names).toEqual(['a']));
    first.handler.hold();
    await publish(server, ['b', 'c']);
    await eventually(() => first.handler.isHandling);
    await first.kill();
    await publish(server, ['d', 'e']);
    const second = await startReadingReplica(server, 'r1');
    await eventually(() => expect(second.handler.names).toEqual(['b', 'c', 'd', 'e']));
    expect(second.handler.gaps).toEqual([]);
    await eventually(async () => expect(await groupRow(server, 'gateway-r1')).toMatchObject({ pending: 0, lag: 0 }));
  });

  test('every replica reads everything', async () => {
    const [first, second] = [await startReadingReplica(server, 'r1'), await startReadingReplica(server, 'r2')];
    await publish(server, names('e', 100));
    for (const { handler } of [first, second]) await eventually(() => expect(handler.names).toEqual(names('e', 100)));
  });
});

describe('pending entries', () => {
  test('are read in pages until there are none', async () => {
    const replica = await startReadingReplica(server, 'r1');
    await replica.kill();
    await publish(server, names('e', 100));
    await readAway(100);
    const again = await startReadingReplica(server, 'r1');
    await eventually(() => expect(again.handler.names).toEqual(names('e', 100)));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    expect(Math.max(...again.handler.batches)).toBe(16);
  });

  test('that were handled before the connection broke are acknowledged again and not delivered', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    handler.hold();
    await publish(server, ['a', 'b']);
    await eventually(() => handler.isHandling);
    await killReader(server, 'r1');
    handler.release();
    await publish(server, ['c']);
    await eventually(() => expect(handler.names).toEqual(['a', 'b', 'c']));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    expect(handler.gaps).toEqual([]);
  });

  test('whose answer was lost on the way come after the next connect, before anything new', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    handler.hold();
    await publish(server, ['a']);
    await eventually(() => handler.isHandling);
    await publish(server, ['b', 'c', 'd']);
    await readAway(3);
    await killReader(server, 'r1');
    await publish(server, ['e']);
    handler.release();
    await eventually(() => expect(handler.story).toEqual(['a', 'b', 'c', 'd', 'e']));
  });

  test('that were trimmed meanwhile are a hole, told in their place', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    handler.hold();
    await publish(server, ['a']);
    await eventually(() => handler.isHandling);
    const ids = await publish(server, ['b', 'c', 'd']);
    await readAway(3);
    await server.call('XTRIM', stream, 'MINID', String(ids[2]));
    await killReader(server, 'r1');
    handler.release();
    await eventually(() => expect(handler.story).toEqual(['a', 'gap:trimmed', 'd']));
    expect(handler.gaps).toEqual([{ reason: 'trimmed', cursor: ids[1], isDataLost: false }]);
  });

  test('that were handled and then trimmed are no hole', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    handler.hold();
    await publish(server, ['a', 'b']);
    await eventually(() => handler.isHandling);
    await killReader(server, 'r1');
    await server.call('XTRIM', stream, 'MAXLEN', 0);
    handler.release();
    await publish(server, ['c']);
    await eventually(() => expect(handler.story).toEqual(['a', 'b', 'c']));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
  });

  test('that vanish with a deleted consumer are read once more', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    handler.hold();
    await publish(server, ['a']);
    await eventually(() => handler.isHandling);
    await publish(server, ['b', 'c']);
    await readAway(2);
    await server.call('XGROUP', 'DELCONSUMER', stream, 'gateway-r1', 'worker');
    await killReader(server, 'r1');
    handler.release();
    await eventually(() => expect(handler.story).toEqual(['a', 'b', 'c']));
  });
});

describe('warm-up', () => {
  test('the tail gets what was there before, newest first, and reading goes on exactly behind it', async () => {
    await publish(server, names('old', 50));
    const replica = createReadingReplica(server, 'r1');
    replica.connections.start();
    replica.source.start();
    // While it starts, the stream grows.
    await publish(server, names('new', 200));
    await eventually(() =>
      expect([...replica.handler.tail, ...replica.handler.names]).toEqual([...names('old', 50), ...names('new', 200)]),
    );
  });

  test('stops when the tail is full', async () => {
    await publish(server, names('old', 100));
    const replica = createReadingReplica(server, 'r1');
    replica.handler.tailLimit = 20;
    replica.connections.start();
    replica.source.start();
    await eventually(() => replica.source.unreadyReasons().length === 0);
    expect(replica.handler.tail).toEqual(names('old', 100).slice(80));
  });

  test('for an existing group it ends before the first pending entry', async () => {
    const first = await startReadingReplica(server, 'r1');
    await publish(server, ['a', 'b']);
    await eventually(() => expect(first.handler.names).toEqual(['a', 'b']));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    await first.kill();
    await publish(server, ['c', 'd']);
    await readAway(1);
    const second = await startReadingReplica(server, 'r1');
    await eventually(() => expect(second.handler.names).toEqual(['c', 'd']));
    expect(second.handler.tail).toEqual(['a', 'b']);
  });
});

describe('blocking reads', () => {
  test('recover from a Redis that stops answering, without losing or repeating anything', async () => {
    const { handler, source } = await startReadingReplica(server, 'r1');
    await publish(server, ['a']);
    await eventually(() => expect(handler.names).toEqual(['a']));
    server.pause();
    const published = publish(server, ['b', 'c']); // waits in the socket
    await eventually(() => source.unreadyReasons().includes('redis'));
    server.resume();
    const resumedAtMs = performance.now();
    await published;
    await eventually(() => expect(handler.story).toEqual(['a', 'b', 'c']));
    expect(performance.now() - resumedAtMs).toBeLessThan(2000);
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
  });

  test('a slow handler does not trip the watchdog', async () => {
    const { handler } = await startReadingReplica(server, 'r1', { readBlockMs: 20, commandTimeoutMs: 50 });
    const before = String(await server.call('GET', 'gateway.reader:r1'));
    const client = /id=(\d+) .* name=gateway\.reader:r1 /.exec(String(await server.call('CLIENT', 'LIST')))?.[1];
    handler.hold();
    await publish(server, ['a']);
    await eventually(() => handler.isHandling);
    await new Promise((resolve) => setTimeout(resolve, 400)); // several watchdog times
    handler.release();
    await publish(server, ['b']);
    await eventually(() => expect(handler.names).toEqual(['a', 'b']));
    expect(/id=(\d+) .* name=gateway\.reader:r1 /.exec(String(await server.call('CLIENT', 'LIST')))?.[1]).toBe(client);
    expect(before).toBeDefined();
  });

  test('ask for fewer entries while entries are large', async () => {
    const { handler } = await startReadingReplica(server, 'r1', { readBatchEntries: 64, commandTimeoutMs: 1000 });
    handler.hold();
    await publish(server, ['x'.repeat(1_000_000)]);
    await eventually(() => handler.isHandling);
    for (let count = 0; count < 30; count++) await publish(server, ['x'.repeat(1_000_000)]);
    handler.release();
    await eventually(() => expect(handler.names).toHaveLength(31));
    expect(Math.max(...handler.batches)).toBeLessThanOrEqual(8);
    await publish(server, names('small', 9));
    await eventually(() => expect(handler.names).toHaveLength(40));
    await publish(server, names('more', 40));
    await eventually(() => expect(handler.batches.at(-1)).toBe(40));
  });

  test('one acknowledgement for a batch goes out with the next read', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    handler.hold();
    await publish(server, ['first']);
    await eventually(() => handler.isHandling);
    await publish(server, names('e', 10));
    await server.call('CONFIG', 'RESETSTAT');
    handler.release();
    await eventually(() => expect(handler.names).toHaveLength(11));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    expect(String(await server.call('INFO', 'commandstats'))).toMatch(/cmdstat_xack:calls=2,/);
  });
});

describe('a group that vanishes', () => {
  test('is made anew at the last id that was handled: nothing is lost, nothing repeated, nobody told', async () => {
    const { handler, metrics } = await startReadingReplica(server, 'r1');
    await publish(server, ['a', 'b']);
    await eventually(() => expect(handler.names).toEqual(['a', 'b']));
    handler.hold();
    await publish(server, ['c']);
    await eventually(() => handler.isHandling);
    await server.call('XGROUP', 'DESTROY', stream, 'gateway-r1');
    await publish(server, ['d', 'e']);
    handler.release();
    await eventually(() => expect(handler.story).toEqual(['a', 'b', 'c', 'd', 'e']));
    expect(await seriesOf(metrics, 'gateway_stream_gaps_total{reason="group_lost"}')).toBe(1);
    await eventually(async () => expect(await groupRow(server, 'gateway-r1')).toMatchObject({ pending: 0, lag: 0 }));
  });

  test('is not read again from its beginning', async () => {
    const { handler } = await startReadingReplica(server, 'r1', { readBlockMs: 1000 });
    await publish(server, names('e', 400));
    await eventually(() => expect(handler.names).toHaveLength(400));
    await eventually(async () => expect((await groupRow(server, 'gateway-r1'))?.pending).toBe(0));
    await server.call('CONFIG', 'RESETSTAT');
    await server.call('XGROUP', 'DESTROY', stream, 'gateway-r1');
    await publish(server, ['next']);
    await eventually(() => expect(handler.names.at(-1)).toBe('next'));
    const reads = /cmdstat_xreadgroup:calls=(\d+)/.exec(String(await server.call('INFO', 'commandstats')))?.[1];
    expect(Number(reads)).toBeLessThan(10); // in pages of 16 the old ones alone would take 25
  });

  test('again and again does not become a busy loop', async () => {
    const { handler } = await startReadingReplica(server, 'r1');
    const destroying = setInterval(() => void server.call('XGROUP', 'DESTROY', stream, 'gateway-r1'), 2);
    await server.call('CONFIG', 'RESETSTAT');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    clearInterval(destroying);
    const stats = String(await server.call('INFO', 'commandstats'));
    const reads = Number(/cmdstat_xreadgroup:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(100);
    await publish(server, ['a']);
    await eventually(() => expect(handler.names).toEqual(['a']));
  });
});

test('a replica whose reads are always full is ready when it is no longer late', async () => {
  const { handler, source } = await startReadingReplica(server, 'r1', { readBatchEntries: 1 });
  await publish(server, names('e', 20));
  await eventually(() => expect(handler.names).toHaveLength(20));
  await eventually(() => source.unreadyReasons().length === 0);
});

describe('draining', () => {
  test('finishes the batch, acknowledges it, and reads nothing more', async () => {
    const { handler, source } = await startReadingReplica(server, 'r1', { readBlockMs: 20_000, commandTimeoutMs: 1000 });
    handler.hold();
    await publish(server, ['a']);
    await eventually(() => handler.isHandling);
    const drained = source.drain();
    handler.release();
    await drained;
    await publish(server, ['b']);
    expect(handler.names).toEqual(['a']);
    expect(await groupRow(server, 'gateway-r1')).toMatchObject({ pending: 0, lag: 1 });
  });

  test('does not wait for a read that blocks', async () => {
    const { source } = await startReadingReplica(server, 'r1', { readBlockMs: 20_000, commandTimeoutMs: 1000 });
    const startedAtMs = performance.now();
    await source.drain();
    expect(performance.now() - startedAtMs).toBeLessThan(1000);
    expect(await groupRow(server, 'gateway-r1')).toMatchObject({ pending: 0 });
  });

  test('ends at once while Redis is away', async () => {
    const { source } = await startReadingReplica(server, 'r1');
    server.pause();
    await eventually(() => source.unreadyReasons().includes('redis'));
    const startedAtMs = performance.now();
    await source.drain();
    expect(performance.now() - startedAtMs).toBeLessThan(2000);
    server.resume();
  });
});

describe('a shared group (the incident)', () => {
  test('hands each entry to one replica only', async () => {
    const options = { usesSharedGroup: true };
    const replicas = [await startReadingReplica(server, 'r1', options), await startReadingReplica(server, 'r2', options)];
    await publish(server, names('e', 100));
    await eventually(() => expect(replicas.flatMap(({ handler }) => handler.names)).toHaveLength(100));
    expect(new Set(replicas.flatMap(({ handler }) => handler.names)).size).toBe(100);
    expect(replicas[0]?.handler.names).not.toHaveLength(100);
    expect(replicas.flatMap(({ handler }) => handler.gaps)).toEqual([]);
    expect(await groupRow(server, 'gateway-shared')).toBeDefined();
    expect(await groupRow(server, 'gateway-r1')).toBeUndefined();
  });
});

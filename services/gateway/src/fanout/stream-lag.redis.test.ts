import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createReadingReplica,
  endReadingReplicas,
  groupRow,
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
beforeEach(() => server.call('FLUSHALL'));
afterEach(endReadingReplicas);
afterAll(() => server.stop());

describe('lag', () => {
  test('rises in entries and seconds while nothing is handled, agrees with XINFO, and is 0 again afterwards', async () => {
    const { handler, metrics, source } = await startReadingReplica(server, 'r1', { readBatchEntries: 4 });
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(0));
    handler.hold();
    await publish(server, names('e', 10));
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(6));
    expect(await groupRow(server, 'gateway-r1')).toMatchObject({ lag: 6, pending: 4 });
    expect(await seriesOf(metrics, 'gateway_stream_pending_entries')).toBe(4);
    // The oldest entry is one of the batch that has been read and is not handled.
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_seconds')).toBeGreaterThan(1));
    expect(source.lag).toMatchObject({ entries: 6, pending: 4 });
    handler.release();
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_seconds')).toBe(0));
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(0));
    expect(await seriesOf(metrics, 'gateway_stream_pending_entries')).toBe(0);
  });

  test('is absent, not 0, while Redis does not know it', async () => {
    const { handler, metrics } = await startReadingReplica(server, 'r1', { readBatchEntries: 4 });
    handler.hold();
    await publish(server, names('a', 4));
    await eventually(() => handler.isHandling);
    const ids = await publish(server, names('e', 10));
    // A tombstone among what is unread.
    await server.call('XDEL', stream, String(ids[4]));
    expect((await groupRow(server, 'gateway-r1'))?.lag).toBeNull();
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBeUndefined());
    expect(await seriesOf(metrics, 'gateway_stream_pending_entries')).toBe(4);
    handler.release();
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(0));
  });

  test('is absent before anything is known and while Redis cannot be asked', async () => {
    const replica = createReadingReplica(server, 'r1');
    const { metrics } = replica;
    const figures = async () =>
      Promise.all(['lag_entries', 'lag_seconds', 'pending_entries'].map((name) => seriesOf(metrics, `gateway_stream_${name}`)));
    const unknown = [undefined, undefined, undefined];
    expect(await figures()).toEqual(unknown);
    // Redis is there, and reading has not begun: the fence is not held, say.
    replica.connections.start();
    expect(await figures()).toEqual(unknown);
    replica.source.start();
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(0));
    server.pause();
    await eventually(async () => expect(await figures()).toEqual(unknown));
    server.resume();
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(0));
  });

  test('is known again after the group was put at an id', async () => {
    const { handler, metrics } = await startReadingReplica(server, 'r1');
    await publish(server, names('e', 10));
    await eventually(() => expect(handler.names).toHaveLength(10));
    await server.call('XGROUP', 'DESTROY', stream, 'gateway-r1');
    await eventually(async () => expect(await groupRow(server, 'gateway-r1')).toMatchObject({ lag: 0, entriesRead: 10 }));
    await eventually(async () => expect(await seriesOf(metrics, 'gateway_stream_lag_entries')).toBe(0));
  });
});

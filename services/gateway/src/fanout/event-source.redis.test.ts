import { eventually, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import type { StreamId } from '@event-gateway/protocol';
import { RedisConnections } from '@event-gateway/redis';
import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventSourceContract, type SourceUnderTest } from '../../test/event-source-contract.js';
import {
  endReadingReplicas,
  killReader,
  publish,
  RecordingHandler,
  seriesOf,
  startReadingReplica,
  stream,
} from '../../test/reading-replica.js';
import type { StreamEntry } from './event-source.js';
import { PubsubSource } from './pubsub-source.js';
import { StreamMetrics } from './stream/stream-metrics.js';

let server: RedisServer;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(() => server.call('FLUSHALL'));
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  await endReadingReplicas();
});
afterAll(() => server.stop());

async function makeStreamSource(): Promise<SourceUnderTest> {
  const { source, handler } = await startReadingReplica(server, 'r1');
  return { source, handler, publish: (names) => publish(server, names), cut: () => killReader(server, 'r1') };
}

async function makePubsubSource(): Promise<SourceUnderTest & { handler: PubsubHandler; metrics: Metrics; received(): Promise<void> }> {
  const connections = new RedisConnections({ url: server.url, commandTimeoutMs: 300 }, systemClock, silentLogger);
  const handler = new PubsubHandler();
  const metrics = new Metrics();
  const source = new PubsubSource(
    { subscriber: connections.subscriber, clock: systemClock, logger: silentLogger, handler, metrics: new StreamMetrics(metrics) },
    { channel: stream, readBatchEntries: 16 },
  );
  ends.push(async () => {
    handler.release();
    connections.stop();
    await source.stop();
  });
  let probes = 0;
  connections.subscriber.subscribe('probe', () => probes++);
  source.start();
  connections.start();
  await eventually(() => source.unreadyReasons().length === 0);
  return {
    source,
    handler,
    metrics,
    // Messages of one connection come in order: once this one is here, all that were published before it are.
    received: async () => {
      const before = probes;
      await server.call('PUBLISH', 'probe', '');
      await eventually(() => probes > before);
    },
    publish: (names) => Promise.all(names.map((name) => server.call('PUBLISH', stream, name))),
    cut: async () => {
      await server.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await eventually(async () => expect(await server.call('PUBSUB', 'NUMSUB', stream)).toEqual([stream, 1]));
    },
  };
}

/** Pub/sub has no ids, so there is no order of ids to watch. */
class PubsubHandler extends RecordingHandler {
  override readonly watchesIds = false;
  /** A batch that holds this name fails, as soon as the promise does. */
  poison: { readonly name: string; readonly failure: Promise<void> } | undefined;
  isFailing = false;

  override async handle(batch: readonly StreamEntry[]): Promise<void> {
    const { name, failure } = this.poison ?? {};
    if (batch.some(({ fields }) => String(fields[1]) === name)) {
      this.isFailing = true;
      await failure;
    }
    await super.handle(batch);
  }
}

eventSourceContract('the stream source', makeStreamSource);
eventSourceContract('the pub/sub source', makePubsubSource);

describe('the pub/sub source', () => {
  test('has no cursor, and says so', async () => {
    const { source } = await makePubsubSource();
    expect([source.isFromLostEpoch('1-1' as StreamId), await source.whoIsLast()]).toEqual([false, undefined]);
  });

  test('tells a gap after the connection was lost, before what is published afterwards, once', async () => {
    const { handler, metrics, publish: send, cut } = await makePubsubSource();
    await send(['before']);
    await eventually(() => expect(handler.names).toEqual(['before']));
    await cut();
    await send(['after']);
    await eventually(() => expect(handler.story).toEqual(['before', 'gap:gap', 'after']));
    expect(handler.gaps).toEqual([{ reason: 'gap', cursor: null, isDataLost: false }]);
    expect(await seriesOf(metrics, 'gateway_stream_gaps_total{reason="pubsub"}')).toBe(1);
  });

  test('what had arrived before the loss comes before the gap', async () => {
    const { handler, publish: send, cut } = await makePubsubSource();
    handler.hold();
    await send(['a']);
    await eventually(() => handler.isHandling);
    await send(['b', 'c']);
    await cut();
    await send(['d']);
    handler.release();
    await eventually(() => expect(handler.story).toEqual(['a', 'b', 'c', 'gap:gap', 'd']));
  });

  test('a batch that the handler fails over is a gap, told once and before what arrives meanwhile', async () => {
    const { handler, metrics, publish: send, received } = await makePubsubSource();
    let fail: () => void = () => undefined;
    handler.poison = { name: 'bad', failure: new Promise((_, reject) => (fail = () => reject(new Error('boom')))) };
    await send(['before']);
    await eventually(() => expect(handler.names).toEqual(['before']));
    await send(['bad', 'neighbour']);
    await eventually(() => handler.isFailing);
    await send(['meanwhile']);
    await received();
    fail();
    await eventually(() => expect(handler.story.at(-1)).toBe('meanwhile'));
    expect(handler.gaps).toEqual([{ reason: 'gap', cursor: null, isDataLost: false }]);
    expect(handler.story.indexOf('gap:gap')).toBeLessThan(handler.story.indexOf('meanwhile'));
    expect(await seriesOf(metrics, 'gateway_stream_gaps_total{reason="pubsub"}')).toBe(1);
  });

  test('drops what it cannot keep, and tells that like any other loss', async () => {
    const { handler, publish: send, received } = await makePubsubSource();
    handler.hold();
    await send(['first']);
    await eventually(() => handler.isHandling);
    for (let round = 0; round < 6; round++) await send(Array.from({ length: 10_000 }, (_, index) => `${round}.${index}`));
    await received();
    handler.release();
    await eventually(() => expect(handler.gaps).toHaveLength(1));
    expect(handler.names.length).toBeLessThanOrEqual(50_001);
    expect(handler.story.at(-1)).toBe('gap:gap');
    await send(['again']);
    await eventually(() => expect(handler.names.at(-1)).toBe('again'));
  });
});

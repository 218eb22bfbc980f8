import { Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { expect, test, vi } from 'vitest';
import type { BatchHandler } from './event-source.js';
import { PubsubSource } from './pubsub-source.js';
import { StreamMetrics } from './stream/stream-metrics.js';

/** A source whose messages the test brings, and whose batches are handled when the test says so. */
function startSource(readBatchEntries: number) {
  let take: (bytes: Buffer) => void = () => undefined;
  const story: (number | 'gap')[] = [];
  const ends: ((failure?: Error) => void)[] = [];
  const handler: BatchHandler = {
    handle: (batch) => {
      story.push(batch.length);
      return new Promise((resolve, reject) => ends.push((failure) => (failure === undefined ? resolve() : reject(failure))));
    },
    gap: () => void story.push('gap'),
    skipped: () => undefined,
  };
  const subscriber = {
    isUp: true,
    subscribeBytes: (_: string, listener: (bytes: Buffer) => void) => {
      take = listener;
    },
    onReconnected: () => undefined,
  };
  const source = new PubsubSource(
    { subscriber, clock: systemClock, logger: silentLogger, handler, metrics: new StreamMetrics(new Metrics()) },
    { channel: 'c', readBatchEntries },
  );
  source.start();
  const bring = (messages: number, bytes: number): void => {
    for (let n = 0; n < messages; n++) take(Buffer.alloc(bytes));
  };
  const finishBatch = (failure?: Error): void => ends.shift()?.(failure);
  return { source, story, bring, finishBatch };
}

// The bytes of what was being handled did not count, and that was the whole queue: twice the bound could be here.
test.each([
  { what: 'bytes', messages: 64, bytes: 1024 * 1024, batch: 8 },
  { what: 'number', messages: 50_000, bytes: 10, batch: 10_000 },
])('what is being handled counts until it is handled, by its $what', async ({ messages, bytes, batch }) => {
  const { source, story, bring, finishBatch } = startSource(batch);
  bring(messages, bytes);
  await vi.waitFor(() => expect(story).toEqual([batch]));
  bring(1, bytes);
  finishBatch();
  await vi.waitFor(() => expect(story).toEqual([batch, batch]));
  // A batch has left: as many may come as it had, and no more.
  bring(batch + 1, bytes);
  await vi.waitFor(() => {
    finishBatch();
    expect(story.filter((told) => told === 'gap')).toHaveLength(2);
  });
  const taken = story.reduce((sum: number, told) => sum + (told === 'gap' ? 0 : told), 0);
  // A hole takes a place, too.
  expect(messages + batch - taken).toBeOneOf([0, 1]);
  await source.stop();
});

test('of a batch that fails only itself is lost, and what came behind it comes behind the hole', async () => {
  const { source, story, bring, finishBatch } = startSource(2);
  bring(5, 10);
  await vi.waitFor(() => expect(story).toEqual([2]));
  finishBatch(new Error('boom'));
  await vi.waitFor(() => {
    finishBatch();
    expect(story).toEqual([2, 'gap', 2, 1]);
  });
  finishBatch();
  await source.stop();
});

import type { StreamId } from '@event-gateway/protocol';
import type { RedisCall } from '@event-gateway/redis';
import { expect, test } from 'vitest';
import { warmUp } from './warm-up.js';

/** A stream of `entries` entries, all of one size, as XREVRANGE replies it. */
function readerOf(entries: number, entryBytes: number) {
  const counts: number[] = [];
  let oldest = entries + 1;
  const reader = {
    bytesRead: 0,
    run: ([call]: readonly RedisCall[]): Promise<readonly unknown[]> => {
      const count = Math.min(Number(call?.at(-1)), oldest - 1);
      counts.push(Number(call?.at(-1)));
      reader.bytesRead += count * entryBytes;
      oldest -= count;
      return Promise.resolve([Array.from({ length: count }, (_, i) => [Buffer.from(`${oldest + count - 1 - i}-0`), []])]);
    },
  };
  return { reader, counts };
}

test.each([
  { entryBytes: 300, counts: [16, 256, 256] },
  { entryBytes: 1024 * 1024, counts: [16, ...Array.from({ length: 35 }, () => 8)] },
])('the tail is warmed in pages of many entries or of few, by their size: $entryBytes bytes', async ({ entryBytes, counts }) => {
  const { reader, counts: asked } = readerOf(290, entryBytes);
  const ids: string[] = [];
  const warmer = {
    startAt: () => undefined,
    prepend: (page: readonly { id: string | null }[]) => ids.push(...page.map(({ id }) => String(id))) > 0,
  };
  await warmUp(reader, warmer, '290-0' as StreamId, '0-0' as StreamId, { stream: 's', batchEntries: 256 });
  expect(ids).toEqual(Array.from({ length: 290 }, (_, i) => `${290 - i}-0`));
  expect(asked).toEqual(counts);
});

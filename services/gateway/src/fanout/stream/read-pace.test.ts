import { describe, expect, test } from 'vitest';
import { ReadPace } from './read-pace.js';

/** Simulates one second of reads that each take 0.1 ms and bring what has arrived since the last one; returns how many reads there were. */
function readsInASecond(entriesPerSecond: number): number {
  const pace = new ReadPace();
  let nowMs = 0;
  let arrived = 0;
  let reads = 0;
  while (nowMs < 1000) {
    const sentAtMs = nowMs;
    nowMs = Math.max(nowMs + 0.1, ((arrived + 1) * 1000) / entriesPerSecond);
    const entries = Math.floor((nowMs * entriesPerSecond) / 1000) - arrived;
    arrived += entries;
    nowMs += pace.waitMs(entries, entries >= 256, sentAtMs, nowMs);
    reads++;
  }
  return reads;
}

describe('the pace of reads', () => {
  test('does not wait while the stream is quiet', () => {
    expect(readsInASecond(4000)).toBeGreaterThan(3900);
  });

  test('spaces reads by 1 ms when it is busy', () => {
    expect(readsInASecond(20_000)).toBeLessThan(2000);
  });

  test('does not wait behind a full batch: there is more already', () => {
    const pace = new ReadPace();
    for (let ms = 0; ms < 500; ms++) pace.waitMs(20, false, ms, ms + 0.1);
    expect(pace.waitMs(20, false, 500, 500.1)).toBeGreaterThan(0);
    expect(pace.waitMs(256, true, 501, 501.1)).toBe(0);
  });

  test('is quick again when the rush is over', () => {
    const pace = new ReadPace();
    for (let ms = 0; ms < 500; ms++) pace.waitMs(20, false, ms, ms + 0.1);
    for (const ms of [700, 900]) pace.waitMs(1, false, ms, ms + 0.1);
    expect(pace.waitMs(1, false, 901, 901.1)).toBe(0);
  });
});

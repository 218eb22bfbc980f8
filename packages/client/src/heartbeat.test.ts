import { expect, test } from 'vitest';
import { FakeClock } from '../test/fake-clock.js';
import { Heartbeat } from './heartbeat.js';
import { DEFAULT_TIMING } from './timing.js';
import { Timers } from './timers.js';

function started(heartbeatMs = 20_000): { clock: FakeClock; heartbeat: Heartbeat; pingsAtMs: number[]; deaths: () => number } {
  const clock = new FakeClock();
  const startMs = clock.nowMs();
  const timers = new Timers(clock);
  timers.open();
  const pingsAtMs: number[] = [];
  let deaths = 0;
  const heartbeat = new Heartbeat(
    { clock, timers, timing: DEFAULT_TIMING, random: Math.random },
    () => pingsAtMs.push(clock.nowMs() - startMs),
    () => {
      deaths += 1;
      heartbeat.stop();
    },
  );
  heartbeat.start(heartbeatMs);
  return { clock, heartbeat, pingsAtMs, deaths: () => deaths };
}

test('a ping goes out every heartbeat', async () => {
  const { clock, heartbeat, pingsAtMs, deaths } = started();
  for (let i = 0; i < 60; i++) {
    await clock.advance(1_000);
    heartbeat.heard();
  }
  expect(pingsAtMs).toEqual([20_000, 40_000, 60_000]);
  expect(deaths()).toBe(0);
});

test('a ping that nothing answers in time is the end of the connection', async () => {
  const { clock, deaths } = started();
  await clock.advance(29_000);
  expect(deaths()).toBe(0);
  await clock.advance(1_000);
  expect(deaths()).toBe(1);
});

test('any frame is an answer', async () => {
  const { clock, heartbeat, deaths } = started();
  await clock.advance(25_000);
  heartbeat.heard();
  await clock.advance(10_000);
  expect(deaths()).toBe(0);
});

test('after a sleep nothing that is overdue counts: it asks first, and an answer saves the connection', async () => {
  const { clock, heartbeat, pingsAtMs, deaths } = started();
  await clock.advance(22_000);
  clock.sleep(3_600_000);
  await clock.advance(0);
  expect(deaths()).toBe(0);
  expect(pingsAtMs.at(-1)).toBe(3_622_000);
  heartbeat.heard();
  await clock.advance(15_000);
  expect(deaths()).toBe(0);
});

test('an answer after a sleep has its whole time, whatever was overdue before', async () => {
  const { clock, deaths } = started(8_000);
  await clock.advance(8_000);
  clock.sleep(3_600_000);
  await clock.advance(4_900);
  expect(deaths()).toBe(0);
});

test('after a sleep without an answer the connection is dead within the shorter time', async () => {
  const { clock, deaths } = started();
  clock.sleep(3_600_000);
  await clock.advance(5_000);
  expect(deaths()).toBe(1);
});

test.each([3_600_000, -3_600_000])('timers that slept as well, or a clock set by %i ms: noticed at the next tick', async (jumpMs) => {
  const { clock, pingsAtMs, deaths } = started();
  clock.setWall(jumpMs);
  await clock.advance(5_000);
  expect(pingsAtMs).toEqual([jumpMs + 5_000]);
  await clock.advance(5_000);
  expect(deaths()).toBe(1);
});

test('timers that are a minute apart (a hidden page) do not hide a dead connection for ever', async () => {
  const { clock, deaths } = started();
  for (let minute = 0; minute < 4; minute++) {
    clock.sleep(60_000);
    await clock.advance(0);
  }
  expect(deaths()).toBe(1);
});

test('a gateway’s heartbeat of nothing does not become a flood', async () => {
  const { clock, heartbeat, pingsAtMs } = started(0);
  for (let i = 0; i < 100; i++) {
    await clock.advance(10);
    heartbeat.heard();
  }
  expect(pingsAtMs.length).toBeLessThanOrEqual(10);
});

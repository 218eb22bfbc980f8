import { FakeClock, type Logger, silentLogger } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import { PacedJob } from './paced-job.js';

let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock();
});

function deps(logger: Logger = silentLogger): { name: string; clock: FakeClock; logger: Logger } {
  return { name: 'test', clock, logger };
}

test('a thousand requests are one run, and those during a run are one more after its pause', async () => {
  const ranAtMs: number[] = [];
  const job = new PacedJob(deps(), async () => {
    ranAtMs.push(clock.nowMs());
    await clock.sleep(30);
    return 100;
  });
  for (let i = 0; i < 1000; i++) job.request();
  await clock.advance(10);
  for (let i = 0; i < 1000; i++) job.request();
  await clock.advance(1000);
  expect(ranAtMs).toEqual([0, 130]);
});

test('a run that asks for the next one before anything else gets it after its own end and pause', async () => {
  const storyAtMs: [string, number][] = [];
  const job: PacedJob = new PacedJob(deps(), async () => {
    if (storyAtMs.length < 4) job.request();
    storyAtMs.push(['begins', clock.nowMs()]);
    await clock.sleep(30);
    storyAtMs.push(['ends', clock.nowMs()]);
    return 100;
  });
  job.request();
  await clock.advance(1000);
  const inTurn = [0, 130, 260].flatMap((ms) => [
    ['begins', ms],
    ['ends', ms + 30],
  ]);
  expect(storyAtMs).toEqual(inTurn);
});

test('a run that throws is logged, and tried again a second later', async () => {
  const lines: object[] = [];
  let runs = 0;
  const job = new PacedJob(deps({ ...silentLogger, warn: (fields) => lines.push(fields) }), async () => {
    if (++runs === 1) throw new Error('bug');
    return 0;
  });
  job.request();
  await clock.advance(999);
  expect([lines.length, runs]).toEqual([1, 1]);
  await clock.advance(1);
  expect([lines.length, runs]).toEqual([1, 2]);
  expect(clock.pendingCount).toBe(0);
});

test('rearranged, it runs then: later than asked for, or earlier than its pause', async () => {
  const ranAtMs: number[] = [];
  const job = new PacedJob(deps(), async () => {
    ranAtMs.push(clock.nowMs());
    return 10_000;
  });
  job.request();
  job.rearrange(500);
  await clock.advance(1000);
  job.request();
  job.rearrange(200);
  await clock.advance(1000);
  expect(ranAtMs).toEqual([500, 1200]);
});

test('stopped, it waits for the run under way and begins none', async () => {
  let runs = 0;
  const job = new PacedJob(deps(), async () => {
    runs++;
    await clock.sleep(50);
    return 0;
  });
  job.request();
  await clock.advance(10);
  job.request();
  let isStopped = false;
  void job.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(30);
  expect(isStopped).toBe(false);
  await clock.advance(1000);
  expect([isStopped, runs]).toEqual([true, 1]);
});

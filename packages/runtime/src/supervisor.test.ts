import { beforeEach, describe, expect, test } from 'vitest';
import { RecordingLogger } from '../test/recording-logger.js';
import { FakeClock } from './fake-clock.js';
import { type Component, Supervisor } from './supervisor.js';

let clock: FakeClock;
let logger: RecordingLogger;
/** What was asked of whom, in order. */
let steps: string[];

beforeEach(() => {
  clock = new FakeClock();
  logger = new RecordingLogger();
  steps = [];
});

/** Takes this long to start, to drain and to stop. */
function component(name: string, takesMs = 0): Component {
  const step = (label: string): Promise<void> => {
    steps.push(label);
    return takesMs === 0 ? Promise.resolve() : clock.sleep(takesMs);
  };
  return {
    name,
    start: () => step(`start ${name}`),
    drain: (deadlineMs) => step(`drain ${name} ${deadlineMs}`),
    stop: () => step(`stop ${name}`),
  };
}

const supervise = (...components: Component[]): Supervisor => new Supervisor(components, clock, logger);

/** Runs `work` with time passing until it ends; how long that took. */
async function timed(work: Promise<void>): Promise<number> {
  const startMs = clock.nowMs();
  let endMs: number | undefined;
  void work.then(() => {
    endMs = clock.nowMs();
  });
  while (endMs === undefined) await clock.advance(10);
  return endMs - startMs;
}

describe('a supervisor', () => {
  test('starts in order, each when the one before it has started', async () => {
    await timed(supervise(component('redis', 100), component('reader')).start());
    expect(steps).toEqual(['start redis', 'start reader']);
    expect(await timed(supervise(component('redis', 100), component('reader', 50)).start())).toBe(150);
  });

  test('drains and stops in reverse: what others stand on goes last', async () => {
    const supervisor = supervise(component('redis'), component('reader'));
    await timed(supervisor.drain(1000));
    await timed(supervisor.stop());
    expect(steps).toEqual(['drain reader 1000', 'drain redis 1000', 'stop reader', 'stop redis']);
  });

  test('gives each what is left of the one deadline of a drain', async () => {
    await timed(supervise(component('redis'), component('reader'), component('sockets', 600)).drain(1000));
    expect(steps).toEqual(['drain sockets 1000', 'drain reader 400', 'drain redis 400']);
  });

  test('ends a drain at its deadline, whoever hangs, and says who', async () => {
    const supervisor = supervise(component('redis'), component('hanging', 60_000));
    expect(await timed(supervisor.drain(1000))).toBe(1000);
    expect(steps).toEqual(['drain hanging 1000', 'drain redis 0']);
    expect(logger.lines).toEqual([
      { level: 'warn', message: 'component missed its deadline', component: 'hanging', step: 'drain', deadlineMs: 1000 },
    ]);
  });

  test('lets whoever has nothing to wait for drain even when no time is left', async () => {
    await timed(supervise(component('redis'), component('hanging', 60_000)).drain(0));
    expect(logger.lines).toEqual([expect.objectContaining({ component: 'hanging' })]);
  });

  test('ends a stop at its deadline too, however many hang', async () => {
    const supervisor = supervise(component('redis'), component('hanging', 60_000), component('stuck', 60_000));
    expect(await timed(supervisor.stop(500))).toBe(500);
    expect(steps).toEqual(['stop stuck', 'stop hanging', 'stop redis']);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('goes on when one %s at its end, and says who', async (_, stop) => {
    await supervise(component('redis'), { name: 'broken', stop }).stop();
    expect(steps).toEqual(['stop redis']);
    expect(logger.lines).toEqual([
      { level: 'warn', message: 'component failed to end cleanly', component: 'broken', step: 'stop', error: new Error('broken') },
    ]);
  });

  test('does not start what stands on something that could not start', async () => {
    const broken: Component = { name: 'redis', start: () => Promise.reject(new Error('broken')) };
    await expect(supervise(broken, component('reader')).start()).rejects.toThrow('broken');
    expect(steps).toEqual([]);
  });

  test('leaves no timer behind', async () => {
    const supervisor = supervise(component('redis'), { name: 'bare' });
    await supervisor.start();
    await timed(supervisor.drain(1000));
    await timed(supervisor.stop());
    expect(clock.pendingCount).toBe(0);
  });
});

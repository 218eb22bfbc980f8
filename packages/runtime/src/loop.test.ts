import { beforeEach, describe, expect, test } from 'vitest';
import { RecordingLogger } from '../test/recording-logger.js';
import { Backoff } from './backoff.js';
import { FakeClock } from './fake-clock.js';
import { runLoop } from './loop.js';

let clock: FakeClock;
let logger: RecordingLogger;
let stopping: AbortController;
/** When each round began. */
let roundsAtMs: number[];

beforeEach(() => {
  clock = new FakeClock();
  logger = new RecordingLogger();
  stopping = new AbortController();
  roundsAtMs = [];
});

interface Loop {
  readonly everyMs?: number | (() => number);
  readonly body?: (round: number, signal: AbortSignal) => void | Promise<void>;
}

function start({ everyMs = 0, body }: Loop): Promise<void> {
  const backoff = new Backoff({ minMs: 100, maxMs: 400, random: () => 1 });
  return runLoop({ name: 'sweep', signal: stopping.signal, clock, logger, backoff, everyMs }, async (signal) => {
    roundsAtMs.push(clock.nowMs());
    if (roundsAtMs.length > 1000) stopping.abort(); // a loop that does not wait is a failure, not the end of the run
    await body?.(roundsAtMs.length, signal);
  });
}

const fail = (): never => {
  throw new Error('broken');
};

describe('a loop', () => {
  test('begins at once and leaves its interval between two rounds', async () => {
    void start({ everyMs: 1000 });
    await clock.advance(2500);
    expect(roundsAtMs).toEqual([0, 1000, 2000]);
  });

  test('asks anew for an interval that changes', async () => {
    let intervalMs = 500;
    void start({ everyMs: () => (intervalMs += 500) });
    await clock.advance(2500);
    expect(roundsAtMs).toEqual([0, 1000, 2500]);
  });

  test('goes on after a failure, each time a little later', async () => {
    void start({ body: fail });
    await clock.advance(1100);
    expect(roundsAtMs).toEqual([0, 200, 600, 1000]);
  });

  test('waits briefly again after a success', async () => {
    void start({ everyMs: 1000, body: (round) => (round === 3 ? undefined : fail()) });
    await clock.advance(1900);
    expect(roundsAtMs).toEqual([0, 200, 600, 1600, 1800]);
  });

  test('says what failed, and once in ten seconds: the failure of a loop repeats', async () => {
    void start({ body: fail });
    await clock.advance(9999);
    expect(logger.lines).toEqual([{ level: 'warn', message: 'loop failed, backing off', loop: 'sweep', error: new Error('broken') }]);
    await clock.advance(1000);
    expect(logger.lines[1]).toMatchObject({ repeated: expect.any(Number) });
  });

  test('ends in the middle of its wait when it is stopped', async () => {
    const ended = start({ everyMs: 1000 });
    await clock.advance(1);
    stopping.abort();
    await ended;
    expect(clock.nowMs()).toBe(1);
    expect(clock.pendingCount).toBe(0);
  });

  test('does not begin when it was stopped before', async () => {
    stopping.abort();
    await start({});
    expect(roundsAtMs).toEqual([]);
  });

  test('ends without a word when its stop is what made a round fail', async () => {
    const ended = start({
      body: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut')))),
    });
    await clock.advance(1);
    stopping.abort();
    await ended;
    expect(logger.lines).toEqual([]);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import { RecordingLogger } from '../test/recording-logger.js';
import { FakeClock } from './fake-clock.js';
import { RateLimitedLog } from './rate-limited-log.js';

let clock: FakeClock;
let logger: RecordingLogger;
let log: RateLimitedLog;

beforeEach(() => {
  clock = new FakeClock();
  logger = new RecordingLogger();
  log = new RateLimitedLog(logger, clock, 1000);
});

describe('a log of faults that repeat', () => {
  test('writes the first at once and the next after the interval, with the number of those left out', async () => {
    for (let i = 0; i < 5; i++) log.warn({ i }, 'slow');
    await clock.advance(1000);
    log.warn({ i: 5 }, 'slow');
    expect(logger.lines).toEqual([
      { level: 'warn', message: 'slow', i: 0 },
      { level: 'warn', message: 'slow', i: 5, repeated: 4 },
    ]);
  });

  test('says nothing of repetition when nothing was left out', async () => {
    log.warn({}, 'slow');
    await clock.advance(1000);
    log.warn({}, 'slow');
    expect(logger.lines[1]).toEqual({ level: 'warn', message: 'slow' });
  });

  test('keeps different faults apart', () => {
    log.warn({}, 'slow');
    log.warn({}, 'lost');
    expect(logger.lines).toHaveLength(2);
  });
});

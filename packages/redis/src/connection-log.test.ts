import { FakeClock, type Logger, silentLogger } from '@event-gateway/runtime';
import { describe, expect, test } from 'vitest';
import { ConnectionLog } from './connection-log.js';

function recorder(): { lines: string[]; logger: Logger } {
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_, message) => lines.push(message),
    warn: (_, message) => lines.push(message),
  };
  return { lines, logger };
}

describe('the connection log', () => {
  test('a Redis that is away for a minute is a handful of lines, whatever retries meanwhile', async () => {
    const clock = new FakeClock();
    const { lines, logger } = recorder();
    const log = new ConnectionLog(logger, clock);
    for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 250) {
      for (const kind of ['command', 'reader', 'subscriber'] as const) log.failed(kind, new Error('ECONNREFUSED'));
      await clock.advance(250);
    }
    for (const kind of ['command', 'reader', 'subscriber'] as const) log.works(kind);
    expect(lines.filter((line) => line === 'Redis is unreachable')).toHaveLength(3);
    expect(lines.filter((line) => line === 'Redis is reachable again')).toHaveLength(3);
  });

  test('a connection that flaps says so every now and then only', async () => {
    const clock = new FakeClock();
    const { lines, logger } = recorder();
    const log = new ConnectionLog(logger, clock);
    for (let count = 0; count < 60; count++) {
      log.failed('reader', new Error('closed'));
      log.works('reader');
      await clock.advance(1000);
    }
    expect(lines.length).toBeLessThanOrEqual(6);
  });

  test('a first connection is no news', () => {
    const { lines, logger } = recorder();
    new ConnectionLog(logger, new FakeClock()).works('command');
    expect(lines).toEqual([]);
  });
});

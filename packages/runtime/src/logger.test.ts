import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger, describeError, type Logger, type LogLevel } from './logger.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'logger-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What is written when `work` logs. */
function written(work: (logger: Logger) => void, level: LogLevel = 'info'): string {
  const file = join(folder, 'log');
  work(createLogger({ level, fields: { replicaId: 'r1' }, destination: file }));
  return readFileSync(file, 'utf8');
}

const secret = 'hunter2';

describe('a log line', () => {
  test('is one JSON object: level by name, time in UTC, the fields of the process and its own', () => {
    expect(JSON.parse(written((logger) => logger.info({ lagEntries: 3 }, 'stream lag above limit')))).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      replicaId: 'r1',
      lagEntries: 3,
      msg: 'stream lag above limit',
    });
  });

  test('below the level is not written', () => {
    expect(written((logger) => logger.debug({}, 'detail'))).toBe('');
    expect(written((logger) => logger.error({}, 'fault'), 'silent')).toBe('');
  });

  test.each(['token', 'authorization', 'password', 'url', 'envelope', 'payload', 'body', 'text'])(
    'never has a %s, whoever passes it and one level deep',
    (name) => {
      const lines = written((logger) => {
        logger.warn({ [name]: secret }, 'plain');
        logger.warn({ request: { [name]: secret } }, 'nested');
        logger.child({ [name]: secret }).warn({}, 'of a child');
        logger.child({ room: 'sync' }).warn({ [name]: secret }, 'by a child');
      });
      expect(lines).not.toContain(secret);
      expect(lines.match(/\[redacted\]/g)).toHaveLength(4);
    },
  );

  test('has of an error its class, its code and its message, and the same of its causes', () => {
    const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    const error = new Error('Redis is away', { cause });
    expect(JSON.parse(written((logger) => logger.warn({ error }, 'fault')))).toMatchObject({
      error: { name: 'Error', message: 'Redis is away', cause: { name: 'Error', code: 'ECONNREFUSED', message: 'connection refused' } },
    });
  });

  test('never has what else an error carries', () => {
    const error = Object.assign(new Error('refused'), { headers: { authorization: secret }, command: { args: [secret] } });
    expect(written((logger) => logger.warn({ error }, 'fault'))).not.toContain(secret);
  });

  test('never has what a parser could not read: its error quotes it', () => {
    const parse = (): unknown => JSON.parse(secret);
    expect(parse).toThrow(secret.slice(0, 3));
    const lines = written((logger) => {
      try {
        parse();
      } catch (error) {
        logger.warn({ error: new Error('bad answer', { cause: error }) }, 'fault');
      }
    });
    expect(lines).not.toContain(secret);
    expect(lines).toContain('SyntaxError');
  });
});

describe('what is said about an error', () => {
  test('is a message even when what was thrown is no error', () => {
    expect(describeError('a string')).toEqual({ message: 'a string' });
    expect(describeError(undefined)).toEqual({ message: 'undefined' });
  });

  test('has a code only when it is text', () => {
    expect(describeError(Object.assign(new Error('x'), { code: 7 }))).toEqual({ name: 'Error', message: 'x' });
  });
});

import { destination, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** One line per change of state: fields first, then a constant message. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** Paths that never reach a log, whoever passes them: tokens, bodies, credentials. */
const secretPaths = ['token', 'authorization', 'password', 'url', 'envelope', 'payload', 'body', 'text'].flatMap((name) => [
  name,
  `*.${name}`,
]);

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly fields?: object;
  /** File descriptor or path; standard output when left out. */
  readonly destination?: number | string;
}

/** JSON lines on standard output. Errors are reduced to code and message: a stack may quote what it parsed. */
export function createLogger({ level, fields = {}, destination: target = 1 }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: fields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
      redact: { paths: secretPaths, censor: '[redacted]' },
    },
    destination({ dest: target, sync: true }),
  );
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};

/**
 * What a log may say about an error: its class, code and message, and the same of its cause. Not the message of a SyntaxError: it
 * quotes what could not be parsed, which may be a body.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) };
  const message = error instanceof SyntaxError ? {} : { message: error.message };
  return { name: error.name, ...code, ...message, ...cause };
}

import type { Logger } from '../src/logger.js';

/** Keeps every line that it is given, fields and message alike. */
export class RecordingLogger implements Logger {
  readonly lines: object[] = [];

  debug(fields: object, message: string): void {
    this.lines.push({ level: 'debug', message, ...fields });
  }

  info(fields: object, message: string): void {
    this.lines.push({ level: 'info', message, ...fields });
  }

  warn(fields: object, message: string): void {
    this.lines.push({ level: 'warn', message, ...fields });
  }

  error(fields: object, message: string): void {
    this.lines.push({ level: 'error', message, ...fields });
  }

  child(): Logger {
    return this;
  }
}

import type { Clock } from './clock.js';
import type { Logger } from './logger.js';

/** A fault that repeats a thousand times a second is one line per interval, with the number of those left out. */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #everyMs: number;
  /** Messages are constants of the code, so this map is bounded by the number of call sites. */
  readonly #lines = new Map<string, { nextMs: number; suppressed: number }>();

  constructor(logger: Logger, clock: Clock, everyMs = 10_000) {
    this.#logger = logger;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  warn(fields: object, message: string): void {
    const nowMs = this.#clock.nowMs();
    const line = this.#lines.get(message);
    if (line !== undefined && nowMs < line.nextMs) {
      line.suppressed++;
      return;
    }
    const repeated = line === undefined || line.suppressed === 0 ? {} : { repeated: line.suppressed };
    this.#logger.warn({ ...fields, ...repeated }, message);
    this.#lines.set(message, { nextMs: nowMs + this.#everyMs, suppressed: 0 });
  }
}

import { Backoff } from './backoff.js';
import type { Clock } from './clock.js';
import type { Logger } from './logger.js';
import { RateLimitedLog } from './rate-limited-log.js';

export interface LoopOptions {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly backoff?: Backoff;
  /** Waited between two successful rounds, in ms; none by default. */
  readonly everyMs?: number | (() => number);
}

/**
 * Runs `body` until the signal aborts. This is the one place where a loop's failure is caught: logged (at most one line per
 * ten seconds), waited out with back-off, and gone on from.
 */
export async function runLoop(options: LoopOptions, body: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { name, signal, clock, logger, everyMs, backoff = new Backoff({ minMs: 50, maxMs: 2000 }) } = options;
  const log = new RateLimitedLog(logger, clock);
  while (!signal.aborted) {
    let waitMs = 0;
    try {
      await body(signal);
      backoff.reset();
      waitMs = typeof everyMs === 'function' ? everyMs() : (everyMs ?? 0);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ loop: name, error }, 'loop failed, backing off');
      waitMs = backoff.next();
    }
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 10,000. */
  readonly timeoutMs?: number;
  /** Default 20. */
  readonly intervalMs?: number;
  /** Says what was waited for in the error. */
  readonly what?: string;
}

/**
 * Runs `check` until it neither throws nor returns `false`, and returns its value. After the time-out the last failure is thrown
 * as it was, so that an assertion inside keeps its message; after a `false` it says what was waited for.
 */
export async function eventually<T>(check: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { timeoutMs = 10_000, intervalMs = 20, what = 'the condition' } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const value = await check();
      if (value !== false) return value;
      failure = new Error(`${what} did not come true within ${timeoutMs} ms`);
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= deadline) throw failure;
    await sleep(intervalMs);
  }
}

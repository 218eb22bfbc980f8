/** A pending call that can be taken back. */
export interface Timer {
  cancel(): void;
}

/**
 * Where a process gets its time from. Monotonic time measures durations and never jumps; wall time is for people and for
 * comparing with ids that others made.
 */
export interface Clock {
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** Unix milliseconds. */
  wallMs(): number;
  /** Calls `fn` once after `ms`. The pending call keeps no process alive by itself. */
  setTimeout(fn: () => void, ms: number): Timer;
  /** Resolves after `ms`, or as soon as `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node's timers overflow to "at once" above 2^31 - 1 ms. */
const maxTimerMs = 2 ** 31 - 1;

class SystemClock implements Clock {
  nowMs(): number {
    return performance.now();
  }

  wallMs(): number {
    return Date.now();
  }

  setTimeout(fn: () => void, ms: number): Timer {
    if (ms > maxTimerMs) return this.#setLongTimeout(fn, ms);
    const handle = setTimeout(fn, Math.max(0, ms));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  #setLongTimeout(fn: () => void, ms: number): Timer {
    let step = this.setTimeout(() => {
      step = this.setTimeout(fn, ms - maxTimerMs);
    }, maxTimerMs);
    return { cancel: () => step.cancel() };
  }
}

/** Shared by every clock: a sleep is a timer that an abort cuts short. */
export function sleepOn(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.setTimeout(finish, ms);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** Calls `fn` every `ms` until cancelled; a late call is not made up for. */
export function every(clock: Clock, ms: number, fn: () => void): Timer {
  let timer = clock.setTimeout(tick, ms);
  function tick(): void {
    timer = clock.setTimeout(tick, ms);
    fn();
  }
  return { cancel: () => timer.cancel() };
}

export const systemClock: Clock = new SystemClock();

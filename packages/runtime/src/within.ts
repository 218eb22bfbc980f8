import type { Clock } from './clock.js';

/** What becomes of `work`, or undefined after `ms`: what comes of it then is dropped, an error too. Rejects when `work` does in time. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(() => resolve(undefined), ms);
    const ended = (): void => {
      timer.cancel();
      resolve(work);
    };
    work.then(ended, ended);
  });
}

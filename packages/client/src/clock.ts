/** Time as the client sees it; tests bring their own. */
export interface Clock {
  /** Wall clock, Unix ms: it goes on while a laptop sleeps, which is how a sleep is noticed. */
  nowMs(): number;
  /** Runs `run` once, after `delayMs`. Returns the way to cancel it. */
  after(delayMs: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

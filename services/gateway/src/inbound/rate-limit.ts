/** What a connection may still send. One small object a connection; times are monotonic ms. */
export interface FrameBudget {
  tokens: number;
  /** When the tokens and the excess were last brought up to date. */
  atMs: number;
  /** Frames dropped lately, and not forgiven yet. */
  excess: number;
  toldAtMs: number;
}

export interface RateLimitOptions {
  readonly inboundFramesPerSecond: number;
  readonly inboundBurst: number;
}

/** `dropped`: over the rate, and the client has just been told so. `dropped_told`: and it is to be told. `flooding`: and that is a violation. */
export type RateVerdict = 'taken' | 'dropped' | 'dropped_told' | 'flooding';

/** A client that is a little over hears of it once a second, and not once a frame. */
const tellEveryMs = 1000;

/** A frame dropped while the one before has not been forgiven by half is one too many. */
const tooMany = 1.5;

/**
 * A token bucket per connection, and what happens beyond it: frames over the rate are dropped, and each is a violation. Forgiven is a
 * quarter of the rate on top, if it comes frame by frame (a clock that runs fast): with 20/s and a burst of 40, 25/s goes on for ever, and
 * a flood is closed with its 46th frame.
 */
export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #forgivenPerMs: number;

  constructor({ inboundFramesPerSecond, inboundBurst }: RateLimitOptions) {
    this.#perMs = inboundFramesPerSecond / 1000;
    this.#burst = inboundBurst;
    this.#forgivenPerMs = this.#perMs / 4;
  }

  newBudget(nowMs: number): FrameBudget {
    return { tokens: this.#burst, atMs: nowMs, excess: 0, toldAtMs: Number.NEGATIVE_INFINITY };
  }

  /** Takes one frame out of the budget. */
  take(budget: FrameBudget, nowMs: number): RateVerdict {
    const elapsedMs = nowMs - budget.atMs;
    budget.atMs = nowMs;
    budget.tokens = Math.min(this.#burst, budget.tokens + elapsedMs * this.#perMs);
    budget.excess = Math.max(0, budget.excess - elapsedMs * this.#forgivenPerMs);
    if (budget.tokens >= 1) {
      budget.tokens--;
      return 'taken';
    }
    budget.excess++;
    const isFlooding = budget.excess >= tooMany;
    if (isFlooding) budget.excess = 1;
    else if (nowMs - budget.toldAtMs < tellEveryMs) return 'dropped';
    budget.toldAtMs = nowMs;
    return isFlooding ? 'flooding' : 'dropped_told';
  }

  /** Whole ms until the next frame is taken. */
  waitMs(budget: FrameBudget): number {
    return Math.max(0, Math.ceil((1 - budget.tokens) / this.#perMs));
  }
}

import type { Clock, Timer } from '@event-gateway/runtime';
import { circuitBreaker, type CircuitBreakerPolicy, CircuitState, ConsecutiveBreaker, handleWhenResult } from 'cockatiel';

/** What a request says about its owner: it serves, it fails, or the request says nothing (it was taken back). */
export type OwnerVerdict = 'ok' | 'fault' | 'none';

export interface Judged {
  readonly verdict: OwnerVerdict;
}

export interface OwnerBreakerOptions {
  /** OWNER_BREAKER_OPEN_MS: an owner that fails is left alone for this long. */
  readonly openMs: number;
}

/** In a row, from the whole replica: fewer would let one unlucky burst take an owner away. */
const maxConsecutiveFaults = 5;

/**
 * Keeps requests away from an owner that fails. Closed (all pass) → open (none) → after `openMs` half-open: one request tries,
 * the others are still refused → closed again, or open for another period.
 *
 * The library counts and holds the state. The open period is measured here: the library reads the wall clock, which may jump,
 * and it lets others wait for the try, which nobody here may do.
 */
export class OwnerBreaker {
  readonly #clock: Clock;
  readonly #openMs: number;
  readonly #policy: CircuitBreakerPolicy;
  readonly #onChange: (isOpen: boolean) => void;
  /** What was last reported; failed tries in between are no change. */
  #isOpen = false;
  #triedAtMs = 0;
  #triesAtMs = 0;
  #timer: Timer | undefined;
  #probe: (() => void) | undefined;

  constructor(clock: Clock, { openMs }: OwnerBreakerOptions, onChange: (isOpen: boolean) => void) {
    this.#clock = clock;
    this.#openMs = openMs;
    this.#onChange = onChange;
    this.#policy = circuitBreaker(
      handleWhenResult((result) => isFault(result)),
      // To the library every open period is over at once: when the next request may try is decided by `mayTry`.
      { halfOpenAfter: Number.NEGATIVE_INFINITY, breaker: new ConsecutiveBreaker(maxConsecutiveFaults) },
    );
    this.#policy.onBreak(() => this.#opened());
    this.#policy.onReset(() => this.#closed());
  }

  /** All requests pass. While this is false nobody should wait for the owner. */
  get isClosed(): boolean {
    return this.#policy.state === CircuitState.Closed;
  }

  /** Ms until the next try; 0 when requests pass or one may try. */
  get waitMs(): number {
    return this.isClosed ? 0 : Math.max(0, this.#triesAtMs - this.#clock.nowMs());
  }

  /** Called when an open period is over, so that the owner is tried even if nobody asks just then. */
  onProbe(probe: () => void): void {
    this.#probe = probe;
  }

  /** Runs the request and judges the owner by its outcome. Undefined: refused, the request was not run. */
  async run<T extends Judged>(request: () => Promise<T>): Promise<T | undefined> {
    if (!this.#mayTry()) return undefined;
    const isTry = !this.isClosed;
    if (isTry) this.#triedAtMs = this.#clock.nowMs();
    let answer: T | undefined;
    try {
      await this.#policy.execute(async () => {
        answer = await request();
        // A try that was taken back has not shown that the owner serves.
        if (answer.verdict === 'none') return isTry ? { verdict: 'fault' } : refuseToJudge();
        return answer;
      });
    } catch (error) {
      if (!(error instanceof UnjudgedError)) throw error;
    }
    return answer;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #mayTry(): boolean {
    if (this.isClosed) return true;
    return this.#policy.state === CircuitState.Open && this.#clock.nowMs() >= this.#triesAtMs;
  }

  #opened(): void {
    const nowMs = this.#clock.nowMs();
    // After a failed try, counted from its start: an owner that hangs is tried as often as one that fails at once.
    this.#triesAtMs = Math.max(nowMs, (this.#triedAtMs || nowMs) + this.#openMs);
    this.#scheduleProbe(this.#triesAtMs - nowMs);
    if (!this.#isOpen) this.#onChange(true);
    this.#isOpen = true;
  }

  #closed(): void {
    this.#triedAtMs = 0;
    this.#timer?.cancel();
    this.#isOpen = false;
    this.#onChange(false);
  }

  #scheduleProbe(afterMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimeout(() => {
      this.#triesAtMs = 0;
      this.#scheduleProbe(this.#openMs);
      this.#probe?.();
    }, afterMs);
  }
}

/** The library counts an error that it does not handle neither as a success nor as a fault. */
class UnjudgedError extends Error {}

function refuseToJudge(): never {
  throw new UnjudgedError();
}

function isFault(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'verdict' in result && result.verdict === 'fault';
}

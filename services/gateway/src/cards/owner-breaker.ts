import type { Clock, Timer } from '@event-gateway/runtime';

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
 * Keeps requests away from an owner that fails. `closed` (all pass) → `open` (none) → after `openMs` `trying`: one request tries, the
 * others are still refused, and none waits for it → `closed` again, or `open` for another period.
 */
export class OwnerBreaker {
  readonly #clock: Clock;
  readonly #openMs: number;
  readonly #onChange: (isOpen: boolean) => void;
  #state: 'closed' | 'open' | 'trying' = 'closed';
  /** In a row, while closed. */
  #faults = 0;
  #triesAtMs = 0;
  #timer: Timer | undefined;
  #probe: (() => void) | undefined;

  /** `onChange` is called when the owner is given up and when it serves again; failed tries in between are no change. */
  constructor(clock: Clock, { openMs }: OwnerBreakerOptions, onChange: (isOpen: boolean) => void) {
    this.#clock = clock;
    this.#openMs = openMs;
    this.#onChange = onChange;
  }

  /** All requests pass. While this is false nobody should wait for the owner. */
  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Ms until the next try; 0 when requests pass or one may try. */
  get waitMs(): number {
    return this.isClosed ? 0 : Math.max(0, this.#triesAtMs - this.#clock.nowMs());
  }

  /** Called when an open period is over, so that the owner is tried even if nobody asks just then. */
  onProbe(probe: () => void): void {
    this.#probe = probe;
  }

  /** Runs the request, which never rejects, and judges the owner by its outcome. Undefined: refused, the request was not run. */
  async run<T extends Judged>(request: () => Promise<T>): Promise<T | undefined> {
    if (this.#state === 'trying' || this.waitMs > 0) return undefined;
    return this.isClosed ? this.#pass(request) : this.#try(request);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  async #pass<T extends Judged>(request: () => Promise<T>): Promise<T> {
    const answer = await request();
    // One that was under way when the owner was given up says nothing new.
    if (!this.isClosed || answer.verdict === 'none') return answer;
    this.#faults = answer.verdict === 'ok' ? 0 : this.#faults + 1;
    if (this.#faults < maxConsecutiveFaults) return answer;
    this.#open(this.#clock.nowMs());
    this.#onChange(true);
    return answer;
  }

  async #try<T extends Judged>(request: () => Promise<T>): Promise<T> {
    const triedAtMs = this.#clock.nowMs();
    this.#state = 'trying';
    const answer = await request();
    // A try that was taken back has not shown that the owner serves.
    if (answer.verdict !== 'ok') this.#open(triedAtMs);
    else this.#close();
    return answer;
  }

  /** After a failed try counted from its start: an owner that hangs is tried as often as one that fails at once. */
  #open(sinceMs: number): void {
    const nowMs = this.#clock.nowMs();
    this.#state = 'open';
    this.#triesAtMs = Math.max(nowMs, sinceMs + this.#openMs);
    this.#scheduleProbe(this.#triesAtMs - nowMs);
  }

  #close(): void {
    this.#state = 'closed';
    this.#faults = 0;
    this.#timer?.cancel();
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

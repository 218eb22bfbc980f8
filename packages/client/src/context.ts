import type { Clock } from './clock.js';
import type { Timers } from './timers.js';
import type { ClientTiming } from './timing.js';

/** What one client's parts share. */
export interface Context {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly timing: ClientTiming;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

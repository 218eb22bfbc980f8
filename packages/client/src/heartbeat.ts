import type { Context } from './context.js';

/** A tick that comes this much too late was slept over: the machine was suspended, or the page frozen or throttled. */
const SLEEP_MS = 5_000;
const MAX_TICK_MS = 5_000;
/** The gateway takes 20 frames a second. */
const MIN_HEARTBEAT_MS = 100;

/**
 * Pings as often as the gateway asks, and notices when nothing comes back. After a sleep every deadline is overdue and none of
 * them means anything, so it asks once more before it calls the connection dead.
 */
export class Heartbeat {
  readonly #context: Context;
  readonly #ping: () => void;
  readonly #dead: () => void;
  #tickMs = MAX_TICK_MS;
  #heartbeatMs = 0;
  #tickedAtMs = 0;
  #pingedAtMs = 0;
  #deadlineMs: number | undefined;
  #unansweredProbes = 0;

  constructor(context: Context, ping: () => void, dead: () => void) {
    this.#context = context;
    this.#ping = ping;
    this.#dead = dead;
  }

  start(heartbeatMs: number): void {
    this.#heartbeatMs = Math.max(heartbeatMs, MIN_HEARTBEAT_MS);
    this.#tickMs = Math.min(MAX_TICK_MS, this.#heartbeatMs / 4);
    this.#tickedAtMs = this.#pingedAtMs = this.#context.clock.nowMs();
    this.heard();
    this.#schedule();
  }

  stop(): void {
    this.#context.timers.clear('heartbeat');
    this.#context.timers.clear('probe');
  }

  /** Any frame is a sign of life. */
  heard(): void {
    this.#deadlineMs = undefined;
    this.#unansweredProbes = 0;
    this.#context.timers.clear('probe');
  }

  /** Asks now, with little patience. */
  probe(): void {
    if (this.#context.timers.has('probe')) return;
    // Timers of a hidden page are a minute apart, and each looks like a sleep: two questions without an answer are enough.
    if (this.#unansweredProbes > 1) return this.#dead();
    this.#unansweredProbes += 1;
    this.#deadlineMs = undefined;
    this.#send(this.#context.timing.probeTimeoutMs);
    this.#context.timers.set('probe', this.#context.timing.probeTimeoutMs, () => this.#check());
  }

  #schedule(): void {
    this.#context.timers.set('heartbeat', this.#tickMs, () => {
      this.#schedule();
      this.#check();
    });
  }

  #check(): void {
    const nowMs = this.#context.clock.nowMs();
    const sinceTickMs = nowMs - this.#tickedAtMs;
    this.#tickedAtMs = nowMs;
    if (sinceTickMs < 0 || sinceTickMs > this.#tickMs + SLEEP_MS) {
      this.#context.timers.clear('probe');
      this.probe();
    } else if (this.#deadlineMs !== undefined && nowMs >= this.#deadlineMs) this.#dead();
    else if (nowMs - this.#pingedAtMs >= this.#heartbeatMs - this.#tickMs / 2) this.#send(this.#context.timing.pongTimeoutMs);
  }

  #send(timeoutMs: number): void {
    this.#pingedAtMs = this.#context.clock.nowMs();
    this.#deadlineMs = Math.min(this.#deadlineMs ?? Number.POSITIVE_INFINITY, this.#pingedAtMs + timeoutMs);
    this.#ping();
  }
}

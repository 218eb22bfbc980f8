import { type Clock, type Logger, RateLimitedLog, type Timer } from '@event-gateway/runtime';

export interface PacedJobDeps {
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** After a job that threw, which is a fault of ours: everything else it reports by itself. */
const faultPauseMs = 1000;

/**
 * Work that is asked for far more often than it is done: one run at a time, and after each the pause that it asked for. Whoever asks
 * during a run or a pause gets a run after it.
 */
export class PacedJob {
  readonly #deps: PacedJobDeps;
  readonly #job: () => Promise<number>;
  readonly #log: RateLimitedLog;
  #isWanted = false;
  #isStopped = false;
  /** True before the job begins: it may ask for its next run in its first line. */
  #isRunning = false;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #notBeforeMs = 0;

  /** `job` returns how long (ms) to leave it alone at least. */
  constructor(deps: PacedJobDeps, job: () => Promise<number>) {
    this.#deps = deps;
    this.#job = job;
    this.#log = new RateLimitedLog(deps.logger, deps.clock);
  }

  request(): void {
    this.#isWanted = true;
    this.#arm();
  }

  /** The next run may begin in `ms`, whatever pause the last one asked for. */
  rearrange(ms: number): void {
    this.#notBeforeMs = this.#deps.clock.nowMs() + ms;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#arm();
  }

  /** No run begins any more. Resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
  }

  #arm(): void {
    if (!this.#isWanted || this.#isStopped || this.#isRunning || this.#timer !== undefined) return;
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#isWanted = false;
      this.#isRunning = true;
      this.#running = this.#run();
    }, this.#notBeforeMs - this.#deps.clock.nowMs());
  }

  async #run(): Promise<void> {
    let pauseMs = faultPauseMs;
    try {
      pauseMs = await this.#job();
    } catch (error) {
      this.#log.warn({ job: this.#deps.name, error }, 'job failed, trying again');
      this.#isWanted = true;
    }
    this.#notBeforeMs = this.#deps.clock.nowMs() + pauseMs;
    this.#isRunning = false;
    this.#arm();
  }
}

import type { Logger, Supervisor } from '@event-gateway/runtime';

export interface GatewayOptions {
  /** DRAIN_DEADLINE_MS. */
  readonly drainDeadlineMs: number;
  /** What is legal in the configuration but unwise. */
  readonly warnings: readonly string[];
}

/** What of a drain's time is kept for letting go of connections, whatever hangs. */
const stopShare = 0.08;

/** One replica: started once, then drained by a signal, fenced out by a successor, or crashed. */
export class Gateway {
  /** Resolves when another process has taken this replica's id: stop at once, touch nothing in Redis. */
  readonly fenced: Promise<void>;
  readonly #logger: Logger;
  readonly #options: GatewayOptions;
  #fenceOut: () => void = () => undefined;
  #supervisor: Supervisor | undefined;
  #drain: { begin(): void } | undefined;

  constructor(logger: Logger, options: GatewayOptions) {
    this.#logger = logger;
    this.#options = options;
    this.fenced = new Promise((resolve) => {
      this.#fenceOut = resolve;
    });
  }

  /** The rooms are built; `drain` refuses new sockets from its beginning on. */
  supervise(supervisor: Supervisor, drain: { begin(): void }): void {
    this.#supervisor = supervisor;
    this.#drain = drain;
  }

  fenceOut(): void {
    this.#fenceOut();
  }

  async start(): Promise<void> {
    for (const warning of this.#options.warnings) this.#logger.warn({}, warning);
    await this.#supervisor?.start();
    this.#logger.info({}, 'replica started');
  }

  /** Empties the replica and stops it; resolves inside the deadline. */
  async drain(signal: string): Promise<void> {
    this.#logger.info({ signal }, 'draining');
    this.#drain?.begin();
    const stopMs = stopShare * this.#options.drainDeadlineMs;
    await this.#supervisor?.drain(this.#options.drainDeadlineMs - stopMs);
    await this.#supervisor?.stop(stopMs);
    this.#logger.info({}, 'drained');
  }

  /** A fault that nobody foresaw ends the process; its clients come back elsewhere and miss nothing. */
  crash(error: unknown): never {
    this.#logger.error({ error }, 'crashed');
    process.exit(1);
  }
}

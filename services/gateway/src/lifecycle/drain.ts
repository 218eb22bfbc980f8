import type { StreamId } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';
import type { Connection } from '../hub/connection.js';

export interface DrainOptions {
  /** DRAIN_WINDOW_MS: the closes are spread evenly over it. */
  readonly windowMs: number;
  /** RECONNECT_JITTER_MS: bounds the random `after_ms` of `reconnect`. */
  readonly reconnectJitterMs: number;
}

/** The connections to be drained, and what they may be told. */
export interface DrainDeps {
  readonly clock: Clock;
  connections(): Iterable<Connection>;
  /** What a client has for certain; undefined while its socket catches up. */
  cursorFor(connection: Connection): StreamId | null | undefined;
}

/** How often a slice of the connections is closed. */
const stepMs = 50;

/**
 * Empties a replica without anybody noticing: each connection is told when to come back and where it stands, then closed, evenly
 * over the window. The walk goes on meanwhile, so nobody misses an event before their own close.
 */
export class Drain {
  readonly #deps: DrainDeps;
  readonly #options: DrainOptions;
  #isDraining = false;

  constructor(deps: DrainDeps, options: DrainOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on no upgrade is granted. */
  begin(): void {
    this.#isDraining = true;
  }

  /** Closes every connection. Resolves when the last one is closed, or as soon as `signal` aborts. */
  async closeAll(signal: AbortSignal): Promise<void> {
    this.begin();
    const { clock } = this.#deps;
    const startMs = clock.nowMs();
    let waiting = [...this.#deps.connections()];
    const total = waiting.length;
    let closed = 0;
    while (waiting.length > 0 && !signal.aborted) {
      const share = this.#options.windowMs === 0 ? 1 : Math.min(1, (clock.nowMs() - startMs + stepMs) / this.#options.windowMs);
      // Upgrades that were granted before the drain may still arrive: they go when the window is over.
      const due = share < 1 ? Math.ceil(total * share) - closed : waiting.length;
      for (let n = 0; n < due && waiting.length > 0; n++, closed++) this.#sayGoodbye(waiting.pop());
      if (waiting.length > 0) await clock.sleep(stepMs, signal);
      else waiting = [...this.#deps.connections()];
    }
  }

  #sayGoodbye(connection: Connection | undefined): void {
    if (connection === undefined || !connection.isOpen) return;
    // One that has not been greeted comes back with what it brought.
    if (!connection.isGreeted) return connection.close('drain');
    const cursor = this.#deps.cursorFor(connection);
    const afterMs = Math.floor(Math.random() * (this.#options.reconnectJitterMs + 1));
    connection.writeControl({ type: 'reconnect', after_ms: afterMs, ...(cursor === undefined ? {} : { cursor }) });
    connection.close('drain');
  }
}

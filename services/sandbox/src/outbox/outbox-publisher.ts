import { decodeOutgoing, type Outgoing } from '@event-gateway/publisher';
import { type Clock, type Component, type Logger, runLoop } from '@event-gateway/runtime';
import type { Database } from '../store/database.js';
import type { OutboxStore } from '../store/outbox-store.js';

/** The one thing that the outbox needs of a publisher: all of these, in this order, or an error. */
export interface Bus {
  send(outgoing: readonly Outgoing[]): Promise<unknown>;
}

const batchRows = 256;
/** Long enough to look into a sandbox that misbehaved, short enough not to fill its disk. */
const keepSentMs = 3_600_000;

/**
 * Carries the outbox to the bus, in order. A crash between the commit and the bus loses nothing: the row is there at the next start.
 * A crash between the bus and the mark sends a row twice, with the same message id and event id, by which clients drop it.
 */
export class OutboxPublisher implements Component {
  readonly name = 'outbox publisher';
  readonly #database: Database;
  readonly #outbox: OutboxStore;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #hasNews = false;
  #wake: (() => void) | undefined;

  constructor(database: Database, outbox: OutboxStore, bus: Bus, clock: Clock, logger: Logger) {
    this.#database = database;
    this.#outbox = outbox;
    this.#bus = bus;
    this.#clock = clock;
    this.#logger = logger;
  }

  start(): void {
    if (this.#running !== undefined) return;
    this.#database.onCommit(() => this.#tell());
    const { signal } = this.#ending;
    signal.addEventListener('abort', () => this.#tell());
    this.#running = runLoop({ name: this.name, signal, clock: this.#clock, logger: this.#logger }, () => this.#publishBatch());
  }

  /** The batch under way is finished; what is left stays in the file. */
  async drain(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #publishBatch(): Promise<void> {
    this.#hasNews = false;
    const rows = this.#outbox.unsent(batchRows);
    const last = rows.at(-1);
    if (last === undefined) return this.#news();
    await this.#bus.send(rows.map((row) => decodeOutgoing(row.outgoing)));
    const nowMs = this.#clock.wallMs();
    this.#outbox.markSent(last.position, nowMs, nowMs - keepSentMs);
  }

  async #news(): Promise<void> {
    if (this.#hasNews || this.#ending.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #tell(): void {
    this.#hasNews = true;
    this.#wake?.();
  }
}

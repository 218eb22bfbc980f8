import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';

/** The three kinds of connection: for commands, for blocking reads, for pub/sub. */
export type ConnectionKind = 'command' | 'reader' | 'subscriber';

/** Redis that is away for a minute is a handful of lines, however many connections retry meanwhile. */
const repeatEveryMs = 20_000;

/** What the connections of one process say about Redis. */
export class ConnectionLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #limited: RateLimitedLog;
  readonly #down = new Set<ConnectionKind>();
  readonly #nextRestoredMs = new Map<ConnectionKind, number>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
    this.#limited = new RateLimitedLog(logger, clock, repeatEveryMs);
  }

  failed(connection: ConnectionKind, error: unknown): void {
    this.#down.add(connection);
    this.#limited.warn({ connection, error }, 'Redis is unreachable');
  }

  /** Redis is there, and will not do what the connection is for: a right is missing, say. */
  refused(connection: ConnectionKind, error: unknown): void {
    this.#down.add(connection);
    this.#limited.warn({ connection, error }, 'Redis refuses what a connection is for');
  }

  /** The connection works. Says so only after a failure, and a connection that flaps says so every now and then. */
  works(connection: ConnectionKind): void {
    if (!this.#down.delete(connection)) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs < (this.#nextRestoredMs.get(connection) ?? 0)) return;
    this.#nextRestoredMs.set(connection, nowMs + repeatEveryMs);
    this.#logger.info({ connection }, 'Redis is reachable again');
  }
}

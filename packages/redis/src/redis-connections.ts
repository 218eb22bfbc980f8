import type { Clock, Logger } from '@event-gateway/runtime';
import { CommandConnection } from './command-connection.js';
import { type ConnectionKind, ConnectionLog } from './connection-log.js';
import { Reader } from './reader.js';
import type { CommandRedis } from './redis-commands.js';
import type { RedisOptions } from './redis-options.js';
import { type Subscriber, SubscriberConnection } from './subscriber.js';

/** The connections of one process. `start` connects in the background and never fails; commands fail fast until it has. */
export class RedisConnections {
  readonly name = 'redis';
  readonly #options: RedisOptions;
  readonly #clock: Clock;
  readonly #log: ConnectionLog;
  readonly #command: CommandConnection;
  readonly #subscriber: SubscriberConnection;
  #reader: Reader | undefined;

  constructor(options: RedisOptions, clock: Clock, logger: Logger) {
    this.#options = options;
    this.#clock = clock;
    this.#log = new ConnectionLog(logger, clock);
    this.#command = new CommandConnection(options, clock, this.#log);
    this.#subscriber = new SubscriberConnection(options, clock, this.#log);
  }

  get command(): CommandRedis {
    return this.#command;
  }

  get subscriber(): Subscriber {
    return this.#subscriber;
  }

  /** A connection for blocking reads, not opened yet. @param connectionName as it shows in CLIENT LIST */
  newReader(connectionName: string): Reader {
    this.#reader = new Reader(this.#options, this.#clock, this.#log, connectionName);
    return this.#reader;
  }

  /** The kinds of connection that this process has; a reader only since the first was asked for. */
  get kinds(): readonly ConnectionKind[] {
    return this.#reader === undefined ? ['command', 'subscriber'] : ['command', 'reader', 'subscriber'];
  }

  /** Whether that kind of connection works; of the readers the newest counts. */
  isUp(connection: ConnectionKind): boolean {
    if (connection === 'command') return this.#command.isUp;
    return connection === 'reader' ? (this.#reader?.isOpen ?? false) : this.#subscriber.isUp;
  }

  start(): void {
    this.#command.start();
    this.#subscriber.start();
  }

  stop(): void {
    this.#reader?.close();
    this.#subscriber.stop();
    this.#command.stop();
  }
}

/** A command connection alone, for processes that only publish or ask. `start` connects in the background, `stop` is final. */
export function createCommandConnection(options: RedisOptions, clock: Clock, logger: Logger, connectionName: string): CommandConnection {
  return new CommandConnection(options, clock, new ConnectionLog(logger, clock), connectionName);
}

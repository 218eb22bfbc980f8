import { type Clock, every, type Timer } from '@event-gateway/runtime';
import { Redis } from 'ioredis';
import type { ConnectionLog } from './connection-log.js';
import type { LuaScript } from './lua-script.js';
import { reconnecting, runTogether, toArgument } from './redis-client.js';
import type { CommandRedis, RedisArgument, RedisCall, ScriptCall } from './redis-commands.js';
import { RedisReplyError, RedisUnavailableError, toRedisError } from './redis-errors.js';
import { clientOptions, type RedisOptions } from './redis-options.js';
import { runScripts } from './run-scripts.js';

/** Bounds what a Redis that has just fallen silent can pile up here until the first timeout. */
const maxCommandsInFlight = 10_000;
/** A peer that died silently has no pending command that could time out; a PING is one. */
const pingEveryMs = 2000;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: RedisUnavailableError) => void;
}

/**
 * The connection for everything that does not block. It reconnects by itself, for ever; while it is down every command fails at once.
 * `start` connects in the background and never fails, `whenUp` waits for that; `stop` is final.
 */
export class CommandConnection implements CommandRedis {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #log: ConnectionLog;
  #watchdog: Timer | undefined;
  #inFlight = 0;
  /** Set by a timeout until the connection has been replaced: whatever is sent meanwhile would only wait for its own timeout. */
  #isSuspect = false;
  #isStopped = false;
  readonly #waiting: Waiting[] = [];
  #hasBeenAway = false;

  constructor(options: RedisOptions, clock: Clock, log: ConnectionLog, connectionName = 'gateway.command') {
    this.#clock = clock;
    this.#log = log;
    this.#redis = new Redis({ ...reconnecting(clientOptions(options, connectionName)), commandTimeout: options.commandTimeoutMs });
    this.#redis.on('error', (error: unknown) => {
      this.#hasBeenAway = true;
      log.failed('command', error);
    });
    // A server that ends in good order closes its connections without an error.
    this.#redis.on('close', () => {
      this.#hasBeenAway = true;
    });
    this.#redis.on('ready', () => {
      this.#isSuspect = false;
      log.works('command');
      for (const { resolve } of this.#waiting.splice(0)) resolve();
    });
  }

  /** Connected, and the last that was heard of it was an answer in time. */
  get isUp(): boolean {
    return this.#redis.status === 'ready' && !this.#isSuspect;
  }

  /**
   * Resolves when commands can be sent: at once while it is up, else when Redis is there, however long that takes.
   * @throws RedisUnavailableError when it is stopped first
   */
  whenUp(): Promise<void> {
    if (this.isUp) return Promise.resolve();
    if (this.#isStopped) return Promise.reject(stoppedError());
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Since the start Redis could not be reached, or has closed the connection, at least once. */
  get hasBeenAway(): boolean {
    return this.#hasBeenAway;
  }

  start(): void {
    if (this.#watchdog !== undefined) return;
    // Its failures arrive as 'error' events, and it retries by itself.
    void this.#redis.connect().catch(() => undefined);
    this.#watchdog = every(this.#clock, pingEveryMs, () => void this.call('PING').catch(() => undefined));
  }

  stop(): void {
    this.#isStopped = true;
    this.#watchdog?.cancel();
    this.#redis.disconnect();
    for (const { reject } of this.#waiting.splice(0)) reject(stoppedError());
  }

  call(...call: RedisCall): Promise<unknown> {
    const [command, ...args] = call;
    return this.#send(command, 1, () => this.#redis.call(command, ...args.map(toArgument)));
  }

  callBuffer(...call: RedisCall): Promise<unknown> {
    const [command, ...args] = call;
    return this.#send(command, 1, () => this.#redis.callBuffer(command, ...args.map(toArgument)));
  }

  pipeline(calls: readonly RedisCall[]): Promise<readonly unknown[]> {
    if (calls.length === 0) return Promise.resolve([]);
    return this.#send(calls[0]?.[0] ?? '', calls.length, () => runTogether(this.#redis, calls, 'text'));
  }

  async runScript(script: LuaScript, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    const [reply] = await this.runScripts([{ script, keys, args }]);
    if (reply instanceof RedisReplyError) throw reply;
    return reply;
  }

  runScripts(calls: readonly ScriptCall[]): Promise<readonly unknown[]> {
    return runScripts((pipeline) => this.pipeline(pipeline), calls);
  }

  async #send<T>(what: string, count: number, send: () => Promise<T>): Promise<T> {
    if (!this.isUp) throw new RedisUnavailableError(`${what}: not connected`, { isUnsent: true });
    if (this.#inFlight + count > maxCommandsInFlight) {
      throw new RedisUnavailableError(`${what}: too many commands wait for an answer`, { isUnsent: true });
    }
    this.#inFlight += count;
    const { stream } = this.#redis;
    const { bytesRead } = stream;
    try {
      return await send();
    } catch (error) {
      const failure = toRedisError(error, what);
      const isSilent = stream === this.#redis.stream && stream.bytesRead === bytesRead;
      if (failure instanceof RedisUnavailableError && isSilent) this.#lost(failure);
      throw failure;
    } finally {
      this.#inFlight -= count;
    }
  }

  /**
   * A command without an answer, and nothing else has arrived since it was sent: the peer is dead or stopped, and a new connection is
   * the only way to find out when it is back.
   */
  #lost(failure: RedisUnavailableError): void {
    if (!this.isUp) return;
    this.#isSuspect = true;
    this.#log.failed('command', failure);
    this.#redis.disconnect(true);
  }
}

function stoppedError(): RedisUnavailableError {
  return new RedisUnavailableError('the connection was stopped', { isUnsent: true });
}

import type { Clock, Timer } from '@event-gateway/runtime';
import { Redis } from 'ioredis';
import type { ConnectionLog } from './connection-log.js';
import type { LuaScript } from './lua-script.js';
import { disposable, runTogether } from './redis-client.js';
import type { RedisArgument, RedisCall, ScriptRunner } from './redis-commands.js';
import { RedisReplyError, RedisUnavailableError, toRedisError } from './redis-errors.js';
import { clientOptions, type RedisOptions } from './redis-options.js';
import { runScripts } from './run-scripts.js';

/** After a timer fired late because this process was stopped or busy, the answer may lie unread in the socket: look once more. */
const lateAnswerMs = 100;

/**
 * A connection for blocking reads, used once: opened, used, thrown away with its first fault. It never reconnects, because a blocked
 * read that the client library carries over to a new connection may hang for ever; its owner makes a new one, and reads what the old
 * one may have taken along. A watchdog abandons answers that do not come.
 */
export class Reader implements ScriptRunner {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #log: ConnectionLog;
  readonly #commandTimeoutMs: number;
  #state: 'new' | 'open' | 'closed' = 'new';
  /** By its owner, which is no fault. */
  #wasClosed = false;
  readonly #underWay = new Set<(reason: string) => void>();

  constructor(options: RedisOptions, clock: Clock, log: ConnectionLog, connectionName: string) {
    this.#clock = clock;
    this.#log = log;
    this.#commandTimeoutMs = options.commandTimeoutMs;
    this.#redis = new Redis(disposable(clientOptions(options, connectionName)));
    this.#redis.on('error', (error: unknown) => log.failed('reader', error));
    this.#redis.on('end', () => this.#lost());
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** What has arrived on this connection so far. */
  get bytesRead(): number {
    return this.#redis.stream?.bytesRead ?? 0;
  }

  /** Connects. @throws RedisUnavailableError when that fails or takes longer than the command timeout */
  async open(): Promise<void> {
    await this.#guard('connect', this.#commandTimeoutMs, this.#redis.connect());
    this.#state = 'open';
    this.#log.works('reader');
  }

  /**
   * Sends all calls at once; answers are Buffers (numbers stay numbers), and a RedisReplyError in the place of a call that failed.
   * A blocking call holds up those behind it, which then run the moment it is served.
   * @param blockMs how long the blocking call among them may block
   * @throws RedisUnavailableError when the connection failed or did not answer in time; it is closed then
   */
  run(calls: readonly RedisCall[], blockMs = 0): Promise<readonly unknown[]> {
    if (this.#state !== 'open') return Promise.reject(new RedisUnavailableError('the reader is closed'));
    return this.#guard(calls[0]?.[0] ?? 'run', blockMs + this.#commandTimeoutMs, runTogether(this.#redis, calls, 'buffers'));
  }

  /** Replies are Buffers. @throws RedisUnavailableError, RedisReplyError */
  async runScript(script: LuaScript, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    const [reply] = await runScripts((calls) => this.run(calls), [{ script, keys, args }]);
    if (reply instanceof RedisReplyError) throw reply;
    return reply;
  }

  /** Ends the connection at once, whatever it waits for; a call under way fails with RedisUnavailableError. */
  close(): void {
    this.#wasClosed ||= this.#state !== 'closed';
    this.#end('the reader was closed');
  }

  /** While nothing waits for an answer nobody else would say so: whoever asks next only learns that the reader is closed. */
  #lost(): void {
    const reason = 'the connection was lost';
    if (this.#state === 'open' && this.#underWay.size === 0) this.#log.failed('reader', new RedisUnavailableError(reason));
    this.#end(reason);
  }

  #end(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#redis.disconnect();
    for (const giveUp of [...this.#underWay]) giveUp(reason);
  }

  /** Never waits longer than the deadline for the client library: its promise is abandoned then, and the connection with it. */
  #guard<T>(what: string, timeoutMs: number, answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (reason: string): void => finish(() => this.#fail(new RedisUnavailableError(`${what}: ${reason}`), reject));
      const finish = (settle: () => void): void => {
        timer.cancel();
        if (this.#underWay.delete(giveUp)) settle();
      };
      let bytesRead = this.bytesRead;
      const check = (): void => {
        // A large answer on a slow line is no silence.
        if (this.bytesRead === bytesRead) giveUp(`no answer within ${timeoutMs} ms`);
        else watch();
      };
      const watch = (): void => {
        bytesRead = this.bytesRead;
        timer = this.#clock.setTimeout(() => {
          timer = this.#clock.setTimeout(check, lateAnswerMs);
        }, timeoutMs);
      };
      let timer: Timer;
      watch();
      this.#underWay.add(giveUp);
      answer.then(
        (value) => finish(() => resolve(value)),
        (error: unknown) => finish(() => this.#fail(toRedisError(error, what), reject)),
      );
    });
  }

  #fail(failure: Error, reject: (failure: Error) => void): void {
    if (!this.#wasClosed) this.#log.failed('reader', failure);
    this.close();
    reject(failure);
  }
}

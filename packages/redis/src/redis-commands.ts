import type { LuaScript } from './lua-script.js';

export type RedisArgument = string | number | Uint8Array;

/** A command and its arguments, e.g. `['XADD', stream, '*', 'envelope', bytes]`. */
export type RedisCall = readonly [command: string, ...args: RedisArgument[]];

export interface ScriptCall {
  readonly script: LuaScript;
  readonly keys: readonly string[];
  readonly args: readonly RedisArgument[];
}

/** Something that runs scripts: the command connection, or a reader when it must be the very server that it reads from. */
export interface ScriptRunner {
  /** @throws RedisUnavailableError, RedisReplyError */
  runScript(script: LuaScript, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown>;
}

/**
 * Commands that do not block. They fail fast with RedisUnavailableError when Redis is down or slower than the timeout; nothing is
 * queued while it is away and nothing is sent twice.
 */
export interface CommandRedis extends ScriptRunner {
  readonly isUp: boolean;
  /** Since the start Redis could not be reached, or a connection to it was lost: what it knows now may be less than it knew. */
  readonly hasBeenAway: boolean;
  /** Replies are strings, numbers, null and arrays of these. @throws RedisUnavailableError, RedisReplyError */
  call(...call: RedisCall): Promise<unknown>;
  /** The same with Buffers in place of strings. @throws RedisUnavailableError, RedisReplyError */
  callBuffer(...call: RedisCall): Promise<unknown>;
  /** One round trip; for each call its reply, or a RedisReplyError. @throws RedisUnavailableError when the connection failed */
  pipeline(calls: readonly RedisCall[]): Promise<readonly unknown[]>;
  /** Several scripts in one round trip; for each its reply, or a RedisReplyError. @throws RedisUnavailableError when the connection failed */
  runScripts(calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
}

import type { Redis, RedisOptions as ClientOptions } from 'ioredis';
import type { RedisArgument, RedisCall } from './redis-commands.js';
import { RedisUnavailableError, toRedisError } from './redis-errors.js';

/** Between two attempts to connect: short enough that a Redis that is back is used within half a second, with jitter for the fleet. */
const maxRetryDelayMs = 500;

/** Options of a connection that comes back by itself for as long as the process lives. */
export function reconnecting(options: ClientOptions): ClientOptions {
  return { ...options, retryStrategy: retryDelayMs, sentinelRetryStrategy: retryDelayMs, reconnectOnError: isFromReplica };
}

/** Options of a connection that ends with its first fault. */
export function disposable(options: ClientOptions): ClientOptions {
  return { ...options, retryStrategy: () => null, sentinelRetryStrategy: () => null };
}

/** How long a connection that is to come back waits before its next attempt. */
export function retryDelayMs(attempt: number): number {
  const ceilingMs = Math.min(maxRetryDelayMs, 25 * 2 ** Math.min(attempt, 10));
  return ceilingMs / 2 + (Math.random() * ceilingMs) / 2;
}

/** A master that was demoted while we were connected: ask again who the master is. The command itself is not sent again. */
function isFromReplica(error: Error): boolean {
  return error.message.includes('READONLY');
}

/**
 * One round trip for all calls. An element is the reply or a RedisReplyError.
 *
 * They leave in one packet, but each as a command of its own: replies that come through the library's pipelines outlive two rounds of the
 * garbage collector, which moves every one of them twice (an entry of the stream costs 2.8 µs that way, and 1.8 µs this way).
 * @throws RedisUnavailableError as soon as one of the calls has no answer
 */
export function runTogether(redis: Redis, calls: readonly RedisCall[], encoding: 'text' | 'buffers'): Promise<readonly unknown[]> {
  const { stream } = redis;
  stream.cork();
  try {
    return Promise.all(calls.map(([command, ...args]) => answer(command, send(redis, command, args.map(toArgument), encoding))));
  } finally {
    // Whatever happens: a stream that stays corked is a connection that says nothing any more.
    stream.uncork();
  }
}

function send(redis: Redis, command: string, args: (string | number | Buffer)[], encoding: 'text' | 'buffers'): Promise<unknown> {
  return encoding === 'text' ? redis.call(command, args) : redis.callBuffer(command, args);
}

async function answer(command: string, reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    const failure = toRedisError(error, command);
    if (failure instanceof RedisUnavailableError) throw failure;
    return failure;
  }
}

/** The client library takes Buffers for bytes and would print any other Uint8Array as numbers. */
export function toArgument(argument: RedisArgument): string | number | Buffer {
  if (!(argument instanceof Uint8Array) || Buffer.isBuffer(argument)) return argument;
  return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength);
}

import type { RedisCall, ScriptCall } from './redis-commands.js';
import { RedisReplyError } from './redis-errors.js';

type RunCalls = (calls: readonly RedisCall[]) => Promise<readonly unknown[]>;

/** Sends every script by its hash, and those that the server does not know again by their source: at most two round trips. */
export async function runScripts(run: RunCalls, calls: readonly ScriptCall[]): Promise<readonly unknown[]> {
  const replies = await run(calls.map((call) => ['EVALSHA', call.script.sha, ...scriptArguments(call)]));
  const unknown = calls.filter((_, index) => isUnknownScript(replies[index]));
  if (unknown.length === 0) return replies;
  const again = await run(unknown.map((call) => ['EVAL', call.script.source, ...scriptArguments(call)]));
  let next = 0;
  return replies.map((reply) => (isUnknownScript(reply) ? again[next++] : reply));
}

function scriptArguments({ keys, args }: ScriptCall): (string | number | Uint8Array)[] {
  return [keys.length, ...keys, ...args];
}

function isUnknownScript(reply: unknown): boolean {
  return reply instanceof RedisReplyError && reply.code === 'NOSCRIPT';
}

import { UnexpectedReplyError } from './redis-errors.js';
import type { LuaScript } from './lua-script.js';

/**
 * A script's reply by the names of its elements, each as text. A script that is not the one its caller was written for must not turn into
 * ids and numbers that are none.
 * @throws UnexpectedReplyError when it is not a list of exactly so many texts and numbers
 */
export function decodeScriptReply<const N extends string>(
  script: LuaScript,
  reply: unknown,
  names: readonly N[],
): Readonly<Record<N, string>> {
  if (!Array.isArray(reply) || reply.length !== names.length) throw new UnexpectedReplyError(script.name);
  return Object.fromEntries(names.map((name, index) => [name, toText(script, reply[index])])) as Record<N, string>;
}

/** A whole number as a script replies it, alone or as an element. @throws UnexpectedReplyError */
export function decodeScriptNumber(script: LuaScript, reply: unknown): number {
  const text = toText(script, reply);
  if (!/^-?\d+$/.test(text)) throw new UnexpectedReplyError(script.name);
  return Number(text);
}

function toText(script: LuaScript, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || Buffer.isBuffer(value)) return value.toString();
  throw new UnexpectedReplyError(script.name);
}

import type { JsonMember } from './json-scan.js';

/** Refuses invalid UTF-8 and keeps a byte order mark, which JSON.parse then refuses. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const utf8 = new TextEncoder();

const quote = 0x22;
const backslash = 0x5c;

/** The text of the bytes, or undefined when they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return undefined; // what a TypeError means here is the answer itself
  }
}

export function encodeText(text: string): Uint8Array {
  return utf8.encode(text);
}

/** What JSON.parse makes of the text or the bytes; undefined, which no JSON text yields, when they are not JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  const text = typeof json === 'string' ? json : decodeText(json);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // what a SyntaxError means here is the answer itself
  }
}

/** The own members of a JSON object by name; undefined for anything else (null and arrays included). */
export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

/** The string that the JSON value at `[start, end)` is, or undefined when it is not a string. The range must hold valid JSON. */
export function stringAt(bytes: Uint8Array, start: number, end: number): string | undefined {
  return bytes[start] === quote ? unescaped(bytes, start + 1, end - 1) : undefined;
}

/** The name of a member, escapes resolved. */
export function keyAt(bytes: Uint8Array, member: JsonMember): string {
  return unescaped(bytes, member.keyStart, member.keyEnd);
}

/** True when the member's name is `name` (ASCII without quotes and backslashes), however it is escaped. */
export function keyEquals(bytes: Uint8Array, member: JsonMember, name: string): boolean {
  const length = member.keyEnd - member.keyStart;
  if (length < name.length) return false;
  if (length > name.length) return hasEscape(bytes, member.keyStart, member.keyEnd) && keyAt(bytes, member) === name;
  for (let i = 0; i < length; i++) if (bytes[member.keyStart + i] !== name.charCodeAt(i)) return false;
  return true;
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] === backslash) return true;
  return false;
}

/**
 * Types, ids and names are short and nearly always plain ASCII: those are put together unit by unit, which costs a third of a call to
 * TextDecoder for them.
 */
function unescaped(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > 64) return unescapedSlow(bytes, start, end);
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte >= 0x80 || byte === backslash) return unescapedSlow(bytes, start, end);
    text += String.fromCharCode(byte);
  }
  return text;
}

function unescapedSlow(bytes: Uint8Array, start: number, end: number): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start, end));
  return hasEscape(bytes, start, end) ? (JSON.parse(`"${text}"`) as string) : text;
}

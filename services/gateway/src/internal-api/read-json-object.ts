import { type Answer, refused } from './answer.js';
import { readBody } from './read-body.js';

export type Fields = Readonly<Record<string, unknown>>;

/** The members of a JSON object in the body; no body is an empty object. Anything else is answered. */
export async function readJsonObject(message: AsyncIterable<unknown>): Promise<{ readonly fields: Fields } | Answer> {
  const body = await readBody(message);
  if (body === 'too_large') return refused('payload_too_large', 'the body may have 1 MiB', { connection: 'close' });
  if (body.length === 0) return { fields: {} };
  const value = parseJson(body);
  return isObject(value) ? { fields: value } : refused('bad_request', 'the body must be a JSON object');
}

/** Undefined, which no JSON text yields, when the bytes are not JSON in UTF-8. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined; // what the error means here is the answer itself
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

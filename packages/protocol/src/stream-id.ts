/** The id of a Redis stream entry in its canonical form, e.g. `1767225600000-0`. Clients know it as their cursor. */
export type StreamId = string & { readonly __brand: 'StreamId' };

/** The position before the first entry of any stream, and the cursor of an empty one. */
export const STREAM_START = '0-0' as StreamId;

const canonical = /^(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/;
const maxU64 = '18446744073709551615';

/** True for `<ms>-<seq>`, two unsigned 64-bit decimals without leading zeros. */
export function isStreamId(value: unknown): value is StreamId {
  if (typeof value !== 'string') return false;
  const parts = canonical.exec(value);
  return parts !== null && compareDecimals(parts[1] ?? '', maxU64) <= 0 && compareDecimals(parts[2] ?? '', maxU64) <= 0;
}

export function asStreamId(value: unknown): StreamId | undefined {
  return isStreamId(value) ? value : undefined;
}

/**
 * Negative, 0 or positive, in stream order. Both must be canonical.
 * Without leading zeros a longer decimal is the larger one, and equal lengths compare as text: no BigInt is needed, and no id above 2^53
 * is rounded.
 */
export function compareStreamIds(a: string, b: string): number {
  if (a === b) return 0;
  const dashA = a.indexOf('-');
  const dashB = b.indexOf('-');
  return compareDecimals(a.slice(0, dashA), b.slice(0, dashB)) || compareDecimals(a.slice(dashA + 1), b.slice(dashB + 1));
}

/** The time part of an id: Unix ms at the host that added the entry. */
export function streamIdMs(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}

function compareDecimals(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

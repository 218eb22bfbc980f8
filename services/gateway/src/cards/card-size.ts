// What things take in memory, in bytes. Measured as heap and buffers per entry on Node 20 (see `card-memory.test.ts`); rounded up.

/** An entry of the cache without its key and its card. */
export const ENTRY_BYTES = 250;
/** A card's object. */
export const OBJECT_BYTES = 100;
/** A Buffer with memory of its own, beside its content. */
export const BUFFER_BYTES = 250;
/** A reference in an array. */
export const REFERENCE_BYTES = 8;

/** A string: V8 keeps ASCII in one byte a unit, other text in up to two. */
export function stringBytes(text: string): number {
  return 24 + (Buffer.byteLength(text) === text.length ? text.length : 2 * text.length);
}

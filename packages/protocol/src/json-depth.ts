const quote = 0x22;
const backslash = 0x5c;

/**
 * True when objects and arrays nest deeper than `maxDepth` (a lone one counts 1), found without parsing: a bomb costs one pass over its
 * bytes and no stack. Says nothing about whether the bytes are JSON.
 */
export function isDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (isInString) {
      if (byte === backslash) i++;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}

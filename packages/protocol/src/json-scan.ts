/** One member of a JSON object, as byte offsets; the key's are those between its quotes, escapes as they stand. */
export interface JsonMember {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** One element of a JSON array, as byte offsets. */
export interface JsonRange {
  readonly start: number;
  readonly end: number;
}

const tab = 0x09;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const plus = 0x2b;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** What all functions here return instead of an offset when the bytes are not JSON. */
const invalid = -1;

/**
 * The members of the one JSON object that fills `[start, end)` (whitespace around it allowed), in order, duplicates included.
 * Undefined when the range is not exactly what JSON.parse would accept as an object. Nothing here recurses: nesting costs a little
 * memory and no stack.
 */
export function scanObject(bytes: Uint8Array, start: number, end: number): JsonMember[] | undefined {
  const members: JsonMember[] = [];
  const at = readMembers(bytes, skipSpace(bytes, start, end), end, members, 0);
  return at !== invalid && skipSpace(bytes, at, end) === end ? members : undefined;
}

/** The elements of the one JSON array that fills `[start, end)`, under the rules of `scanObject`. */
export function scanArray(bytes: Uint8Array, start: number, end: number): JsonRange[] | undefined {
  let at = skipSpace(bytes, start, end);
  if (at >= end || bytes[at] !== openBracket) return undefined;
  const elements: JsonRange[] = [];
  at = skipSpace(bytes, at + 1, end);
  if (at < end && bytes[at] === closeBracket) return skipSpace(bytes, at + 1, end) === end ? elements : undefined;
  for (;;) {
    const valueEnd = skipValue(bytes, at, end);
    if (valueEnd === invalid) return undefined;
    elements.push({ start: at, end: valueEnd });
    at = skipSpace(bytes, valueEnd, end);
    if (at >= end) return undefined;
    const next = bytes[at];
    at = skipSpace(bytes, at + 1, end);
    if (next === closeBracket) return at === end ? elements : undefined;
    if (next !== comma) return undefined;
  }
}

/** True when `[start, end)` holds exactly one JSON value of any kind. */
export function isJson(bytes: Uint8Array, start: number, end: number): boolean {
  const at = skipValue(bytes, skipSpace(bytes, start, end), end);
  return at !== invalid && skipSpace(bytes, at, end) === end;
}

/**
 * Reads the object whose `{` is at `at` into `members`, offsets relative to `origin`; the offset behind its `}`, or -1.
 * Lets a decoder read an inner object's members while it walks the outer one, instead of scanning it twice.
 */
export function readMembers(bytes: Uint8Array, at: number, end: number, members: JsonMember[], origin: number): number {
  if (at >= end || bytes[at] !== openBrace) return invalid;
  at = skipSpace(bytes, at + 1, end);
  if (at < end && bytes[at] === closeBrace) return at + 1;
  for (;;) {
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd === invalid) return invalid;
    const valueStart = skipColon(bytes, keyEnd, end);
    if (valueStart === invalid) return invalid;
    const valueEnd = skipValue(bytes, valueStart, end);
    if (valueEnd === invalid) return invalid;
    members.push({
      keyStart: at + 1 - origin,
      keyEnd: keyEnd - 1 - origin,
      valueStart: valueStart - origin,
      valueEnd: valueEnd - origin,
    });
    at = skipSpace(bytes, valueEnd, end);
    if (at >= end) return invalid;
    const next = bytes[at++];
    if (next === closeBrace) return at;
    if (next !== comma) return invalid;
    at = skipSpace(bytes, at, end);
  }
}

/** The offset behind the value that starts at `at`, or -1 when there is no valid one. */
export function skipValue(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return invalid;
  const first = bytes[at];
  if (first === quote) return skipString(bytes, at, end);
  if (first !== openBrace && first !== openBracket) return skipScalar(bytes, at, end);
  return skipContainer(bytes, at, end);
}

/** The first offset from `at` on that is not JSON whitespace. */
export function skipSpace(bytes: Uint8Array, at: number, end: number): number {
  while (at < end) {
    const byte = bytes[at];
    if (byte !== space && byte !== newline && byte !== carriageReturn && byte !== tab) break;
    at++;
  }
  return at;
}

/** The offset behind the string whose opening quote is at `at`, or -1. Whether the bytes are UTF-8 is checked by the caller. */
export function skipString(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end || bytes[at] !== quote) return invalid;
  at++;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte === quote) return at + 1;
    if (byte < space) return invalid;
    if (byte === backslash) {
      at = skipEscape(bytes, at, end);
      if (at === invalid) return invalid;
    } else at++;
  }
  return invalid;
}

/** From the end of a key to the start of its value. */
export function skipColon(bytes: Uint8Array, at: number, end: number): number {
  at = skipSpace(bytes, at, end);
  return at < end && bytes[at] === colon ? skipSpace(bytes, at + 1, end) : invalid;
}

function skipEscape(bytes: Uint8Array, at: number, end: number): number {
  if (at + 1 >= end) return invalid;
  switch (bytes[at + 1]) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      if (at + 6 > end) return invalid;
      for (let i = at + 2; i < at + 6; i++) if (!isHexDigit(bytes[i] as number)) return invalid;
      return at + 6;
    default:
      return invalid;
  }
}

function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= 0x39;
}

function skipScalar(bytes: Uint8Array, at: number, end: number): number {
  switch (bytes[at]) {
    case 0x74:
      return skipWord(bytes, at, end, 'true');
    case 0x66:
      return skipWord(bytes, at, end, 'false');
    case 0x6e:
      return skipWord(bytes, at, end, 'null');
    default:
      return skipNumber(bytes, at, end);
  }
}

function skipWord(bytes: Uint8Array, at: number, end: number, word: string): number {
  if (at + word.length > end) return invalid;
  for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) return invalid;
  return at + word.length;
}

function skipNumber(bytes: Uint8Array, at: number, end: number): number {
  if (at < end && bytes[at] === minus) at++;
  if (at < end && bytes[at] === zero) at++;
  else at = skipDigits(bytes, at, end);
  if (at === invalid) return invalid;
  if (at < end && bytes[at] === dot) {
    at = skipDigits(bytes, at + 1, end);
    if (at === invalid) return invalid;
  }
  if (at < end && ((bytes[at] as number) | 0x20) === 0x65) {
    at++;
    if (at < end && (bytes[at] === plus || bytes[at] === minus)) at++;
    at = skipDigits(bytes, at, end);
  }
  return at;
}

/** At least one digit. */
function skipDigits(bytes: Uint8Array, at: number, end: number): number {
  const first = at;
  while (at < end && isDigit(bytes[at])) at++;
  return at > first ? at : invalid;
}

function skipContainer(bytes: Uint8Array, at: number, end: number): number {
  const closers: number[] = []; // the bytes that must close what is open, innermost last
  for (;;) {
    // At a value.
    if (at >= end) return invalid;
    const first = bytes[at];
    if (first === openBrace || first === openBracket) {
      const closer = first === openBrace ? closeBrace : closeBracket;
      at = skipSpace(bytes, at + 1, end);
      if (at < end && bytes[at] === closer) at++;
      else {
        closers.push(closer);
        if (closer === closeBrace) at = skipKey(bytes, at, end);
        if (at === invalid) return invalid;
        continue;
      }
    } else {
      at = first === quote ? skipString(bytes, at, end) : skipScalar(bytes, at, end);
      if (at === invalid) return invalid;
    }
    // Behind a value: close what ends here, then go on to the next value.
    for (;;) {
      const closer = closers.at(-1);
      if (closer === undefined) return at;
      at = skipSpace(bytes, at, end);
      if (at >= end) return invalid;
      const next = bytes[at++];
      if (next === closer) {
        closers.pop();
        continue;
      }
      if (next !== comma) return invalid;
      at = skipSpace(bytes, at, end);
      if (closer === closeBrace) at = skipKey(bytes, at, end);
      if (at === invalid) return invalid;
      break;
    }
  }
}

/** From a key's opening quote to the start of its value. */
function skipKey(bytes: Uint8Array, at: number, end: number): number {
  at = skipString(bytes, at, end);
  return at === invalid ? invalid : skipColon(bytes, at, end);
}

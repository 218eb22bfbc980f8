/** The contract's cap of a dead letter's `entry`. */
const maxJsonBytes = 64 * 1024;

/**
 * A stream entry as a JSON object of its fields, at most 64 KiB: values are cut where it would be longer, and bytes that are no UTF-8
 * are replaced. What comes out is always valid JSON, so that a reader of dead letters need not expect less.
 */
export function entryAsJson(fields: readonly Buffer[]): string {
  const members: string[] = [];
  let leftBytes = maxJsonBytes - 2;
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const name = textOf(fields[index]);
    const member = fit(`${JSON.stringify(name)}:`, textOf(fields[index + 1]), leftBytes - 1);
    if (member === undefined) break;
    members.push(member);
    leftBytes -= Buffer.byteLength(member) + 1;
  }
  return `{${members.join(',')}}`;
}

/** More than fits is never looked at: a field may have a megabyte. */
function textOf(bytes: Buffer | undefined): string {
  return bytes?.subarray(0, maxJsonBytes).toString() ?? '';
}

/** The member with as much of its value as fits; undefined when not even an empty one does. */
function fit(prefix: string, value: string, maxBytes: number): string | undefined {
  const sizeOf = (length: number): number => Buffer.byteLength(prefix) + Buffer.byteLength(JSON.stringify(wellFormed(value, length)));
  if (sizeOf(0) > maxBytes) return undefined;
  let fits = 0;
  let tooLong = value.length + 1;
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >>> 1;
    if (sizeOf(middle) <= maxBytes) fits = middle;
    else tooLong = middle;
  }
  return prefix + JSON.stringify(wellFormed(value, fits));
}

/** A cut through a surrogate pair would leave half of it. */
function wellFormed(value: string, length: number): string {
  const last = value.charCodeAt(length - 1);
  const isHalf = length > 0 && last >= 0xd800 && last <= 0xdbff;
  return value.slice(0, isHalf ? length - 1 : length);
}

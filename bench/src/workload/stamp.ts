import { stampPlaceholder } from './workload.js';

// The time of sending travels inside the payload as a number of exactly 16 digits, so that it can be written over in place in bytes
// that were encoded beforehand, and read from a frame without parsing it.

const key = Buffer.from('"sent_us":');
const digits = 16;
const zero = 0x30;

/** Where the digits begin in an encoded event. @throws when it has none */
export function stampOffset(bytes: Buffer): number {
  const at = bytes.indexOf(key);
  if (at < 0) throw new Error('an event without its time of sending');
  return at + key.length;
}

export function writeStamp(bytes: Buffer, offset: number, timeUs: number): void {
  let rest = stampPlaceholder + timeUs;
  for (let at = offset + digits - 1; at >= offset; at--) {
    bytes[at] = zero + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** The time of sending in a frame that lies in [start, end) of `bytes`, in microseconds; `undefined` when it carries none. */
export function readStamp(bytes: Buffer, start: number, end: number): number | undefined {
  const at = bytes.indexOf(key, start);
  if (at < 0 || at + key.length + digits > end) return undefined;
  let value = 0;
  for (let i = at + key.length; i < at + key.length + digits; i++) value = value * 10 + ((bytes[i] ?? zero) - zero);
  return value - stampPlaceholder;
}

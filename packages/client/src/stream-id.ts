const STREAM_ID = /^(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/;

export function isStreamId(value: unknown): value is string {
  return typeof value === 'string' && STREAM_ID.test(value);
}

/** Two unsigned 64-bit numbers: compared as text of equal length, they lose nothing beyond 2^53. */
export function isAbove(id: string, other: string): boolean {
  return padded(id) > padded(other);
}

function padded(id: string): string {
  return id.replace(/\d+/g, (digits) => digits.padStart(20, '0'));
}

const STREAM_ID = /^(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/;

export function isStreamId(value: unknown): value is string {
  return typeof value === 'string' && STREAM_ID.test(value);
}

/** Stream ids are two unsigned 64-bit numbers: compared by length, then as text, they lose nothing beyond 2^53. */
export function isAbove(id: string, other: string): boolean {
  const [ms = '', seq = ''] = id.split('-');
  const [otherMs = '', otherSeq = ''] = other.split('-');
  return (compareDigits(ms, otherMs) || compareDigits(seq, otherSeq)) > 0;
}

function compareDigits(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a > b ? 1 : -1;
}

import { expect, test } from 'vitest';
import { FrameReader } from './frame-reader.js';

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, length]), payload]);
  if (length < 65_536) return Buffer.concat([Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff]), payload]);
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

const text = (content: string): Buffer => frame(1, Buffer.from(content));

function collector() {
  const seen: string[] = [];
  return {
    seen,
    onText: (bytes: Buffer, start: number, end: number) => void seen.push(bytes.toString('utf8', start, end)),
    onPing: (payload: Buffer) => void seen.push(`ping ${payload.toString()}`),
    onClose: (code: number) => void seen.push(`close ${code}`),
  };
}

test('frames of every length come out whole, wherever the reads cut them', () => {
  const cases = [
    { sizes: [0, 1, 125, 126, 127, 300], chunkSizes: [1, 2, 7, 1000] },
    { sizes: [65_535, 65_536, 3], chunkSizes: [4096, 65_536, 200_000] },
  ];
  for (const { sizes, chunkSize } of cases.flatMap(({ sizes, chunkSizes }) => chunkSizes.map((chunkSize) => ({ sizes, chunkSize })))) {
    const contents = sizes.map((size) => 'x'.repeat(size));
    const bytes = Buffer.concat(contents.map(text));
    const sink = collector();
    const reader = new FrameReader();
    const chunk = Buffer.alloc(chunkSize);
    for (let at = 0; at < bytes.length; at += chunkSize) reader.read(chunk, bytes.copy(chunk, 0, at, at + chunkSize), sink);
    expect(sink.seen).toEqual(contents);
  }
});

test('what is kept between two reads is a copy: the buffer belongs to the caller again', () => {
  const sink = collector();
  const reader = new FrameReader();
  const bytes = text('whole');
  const chunk = Buffer.from(bytes.subarray(0, 4));
  reader.read(chunk, chunk.length, sink);
  chunk.fill(0);
  reader.read(bytes.subarray(4), bytes.length - 4, sink);
  expect(sink.seen).toEqual(['whole']);
});

test('pings and closes are told apart from messages', () => {
  const sink = collector();
  const close = frame(8, Buffer.from([0x10, 0x69]));
  const bytes = Buffer.concat([frame(9, Buffer.from('here')), frame(10, Buffer.alloc(0)), close, frame(8, Buffer.alloc(0))]);
  new FrameReader().read(bytes, bytes.length, sink);
  expect(sink.seen).toEqual(['ping here', 'close 4201', 'close 1005']);
});

export interface FrameSink {
  /** A whole text message lies in [start, end) of `bytes`, for the time of the call. */
  onText(bytes: Buffer, start: number, end: number): void;
  onPing(payload: Buffer): void;
  /** `code` is 1005 when the server gave none. */
  onClose(code: number): void;
}

const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/**
 * The frames of one socket, cut out of what it receives without a copy, except for a frame that lies across two reads. Servers mask
 * nothing, and none of those measured here splits a message.
 */
export class FrameReader {
  #carry: Buffer | undefined;

  /** Takes the first `length` bytes of `chunk`, which may be reused by the caller afterwards. */
  read(chunk: Buffer, length: number, sink: FrameSink): void {
    const carry = this.#carry;
    const bytes = carry === undefined ? chunk : Buffer.concat([carry, chunk.subarray(0, length)]);
    const end = carry === undefined ? length : bytes.length;
    const rest = readFrames(bytes, end, sink);
    this.#carry = rest === end ? undefined : Buffer.from(bytes.subarray(rest, end));
  }
}

/** Where the first frame begins that is not whole yet. */
function readFrames(bytes: Buffer, end: number, sink: FrameSink): number {
  let at = 0;
  while (at + 2 <= end) {
    const header = bytes[at] ?? 0;
    let payload = at + 2;
    let size = (bytes[at + 1] ?? 0) & 0x7f;
    if (size === 126) {
      if (at + 4 > end) return at;
      size = bytes.readUInt16BE(at + 2);
      payload = at + 4;
    } else if (size === 127) {
      if (at + 10 > end) return at;
      size = Number(bytes.readBigUInt64BE(at + 2));
      payload = at + 10;
    }
    if (payload + size > end) return at;
    take(header, bytes, payload, payload + size, sink);
    at = payload + size;
  }
  return at;
}

function take(header: number, bytes: Buffer, start: number, end: number, sink: FrameSink): void {
  if ((header & 0x80) === 0) throw new Error('a message in several frames');
  switch (header & 0x0f) {
    case opcodes.text:
    case opcodes.binary:
      sink.onText(bytes, start, end);
      return;
    case opcodes.close:
      sink.onClose(end - start >= 2 ? bytes.readUInt16BE(start) : 1005);
      return;
    case opcodes.ping:
      sink.onPing(Buffer.from(bytes.subarray(start, end)));
      return;
    case opcodes.pong:
      return;
    default:
      throw new Error(`opcode ${header & 0x0f}`);
  }
}

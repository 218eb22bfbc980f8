/** A client frame with a mask of zeros: legal, and nothing to compute. Up to 65,535 bytes. */
function maskedFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...size, 0, 0, 0, 0]), payload]);
}

export function maskedText(text: string): Buffer {
  return maskedFrame(1, Buffer.from(text));
}

export function maskedPong(payload: Buffer): Buffer {
  return maskedFrame(10, payload);
}

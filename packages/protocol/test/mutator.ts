// Bytes as no writer would send them: good ones, damaged a little. A seed repeats them.

/** Where decoders have their edges. */
const shards = [
  ...['{', '}', '[', ']', ':', ',', '"', '\\', '\\u', '\\ud800', '\\u0000', 'null', 'true', '-1', '1.5', '1e999', '9007199254740993'],
  ...['"__proto__":', '"type":', '"type":"ping"', '"recipients":', '"payload":', '{}', '[]', '""', ' ', '\n', '\u0000', '\ufeff', '😀'],
  ...['['.repeat(40), '{"a":'.repeat(40), 'x'.repeat(200)],
].map((text) => Buffer.from(text));

/** No UTF-8: a lone continuation, an overlong slash, half a character, a surrogate, above the last code point. */
const brokenUtf8 = [[0x80], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff]].map((bytes) =>
  Buffer.from(bytes),
);

export class Mutator {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, `end` (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  /** @throws for an empty list */
  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** One of these, with up to four damages; now and then none. */
  mutate(goodOnes: readonly string[]): Buffer {
    let bytes: Buffer = Buffer.from(this.pick(goodOnes));
    for (let damages = this.below(5); damages > 0; damages--) bytes = this.#damage(bytes, goodOnes);
    return bytes;
  }

  #damage(bytes: Buffer, goodOnes: readonly string[]): Buffer {
    const from = this.below(bytes.length + 1);
    const to = Math.min(bytes.length, from + this.below(12));
    const splice = (...middle: readonly Uint8Array[]): Buffer => Buffer.concat([bytes.subarray(0, from), ...middle, bytes.subarray(to)]);
    switch (this.below(8)) {
      case 0:
        return splice();
      case 1:
        return splice(this.pick(shards));
      case 2:
        return splice(this.pick(brokenUtf8));
      case 3:
        return splice(bytes.subarray(from, to), bytes.subarray(from, to));
      case 4:
        return bytes.subarray(0, from);
      case 5:
        return Buffer.concat([bytes.subarray(0, from), Buffer.from(this.pick(goodOnes)).subarray(from)]);
      case 6:
        return splice(Buffer.from(Array.from({ length: this.below(6) }, () => this.below(256))));
      default: {
        const flipped = Buffer.from(bytes);
        if (from < flipped.length) flipped.writeUInt8(flipped.readUInt8(from) ^ (1 << this.below(8)), from);
        return flipped;
      }
    }
  }
}

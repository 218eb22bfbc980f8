/**
 * Puts pieces one behind the other, in two passes over the same calls: the first measures, the second, after `begin`, writes into
 * exactly the memory that it takes. A list of pieces that is joined at the end costs half as much again.
 */
export class FrameWriter {
  #bytes: Buffer | undefined;
  #at = 0;

  begin(): void {
    this.#bytes = Buffer.allocUnsafe(this.#at);
    this.#at = 0;
  }

  put(piece: Uint8Array): void {
    if (this.#bytes !== undefined) this.#bytes.set(piece, this.#at);
    this.#at += piece.length;
  }

  putAscii(text: string): void {
    if (this.#bytes !== undefined) this.#bytes.write(text, this.#at, 'latin1');
    this.#at += text.length;
  }

  /** An object that was put is open again: what follows goes over its last brace. */
  reopen(): void {
    this.#at--;
  }

  end(): Uint8Array {
    if (this.#bytes?.length !== this.#at) throw new Error('the passes over a frame differ');
    return this.#bytes;
  }
}

import type { SendVerdict, Socket } from '../src/transport/socket.js';

/** A socket whose network the test plays: it takes everything until `stall` is called. */
export class FakeSocket implements Socket {
  readonly frames: string[] = [];
  /** The frames of each packet: one per send outside a cork, one per cork. */
  readonly packets: string[][] = [];
  pings = 0;
  closed: { readonly code: number; readonly reason: string } | undefined;
  #isStalled = false;
  #buffered = 0;
  #refuses = false;
  #packet: string[] | undefined;

  /** From now on the network takes nothing. */
  stall(): void {
    this.#isStalled = true;
  }

  /** The transport's own limit is reached: frames are dropped. */
  refuse(refuses = true): void {
    this.#refuses = refuses;
  }

  /** The network takes everything; the caller then tells the connection (`onDrain`). */
  drain(leaving = 0): void {
    this.#isStalled = leaving > 0;
    this.#buffered = leaving;
  }

  send(frame: Uint8Array | string): SendVerdict {
    if (this.#refuses) return 'dropped';
    const text = typeof frame === 'string' ? frame : Buffer.from(frame).toString();
    this.frames.push(text);
    if (this.#packet === undefined) this.packets.push([text]);
    else this.#packet.push(text);
    if (!this.#isStalled) return 'sent';
    this.#buffered += Buffer.byteLength(text);
    return 'buffered';
  }

  bufferedBytes(): number {
    return this.#buffered;
  }

  cork(write: () => void): void {
    this.#packet = [];
    write();
    this.packets.push(this.#packet);
    this.#packet = undefined;
  }

  ping(): void {
    this.pings++;
  }

  end(code: number, reason: string): void {
    this.closed = { code, reason };
  }

  /** What was sent, parsed. */
  get sent(): Record<string, unknown>[] {
    return this.frames.map((frame) => JSON.parse(frame) as Record<string, unknown>);
  }

  types(): unknown[] {
    return this.sent.map((frame) => frame['type']);
  }
}

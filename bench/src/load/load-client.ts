import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { monotonicUs } from '../host/monotonic-clock.js';
import type { ClientGroup, GroupClient } from './client-group.js';
import { FrameReader, type FrameSink } from './frame-reader.js';
import { maskedPong, maskedText } from './masked-frame.js';
import type { LoadUser } from './protocols/client-protocol.js';

export interface Endpoint {
  readonly port: number;
  /** Default false. Whatever certificate is shown is believed. */
  readonly isTls?: boolean;
  /** One of 127.0.0.x: a pair of addresses has some 28,000 ports and no more. */
  readonly localAddress: string;
}

/** How the attempt to connect ended. */
export type Opening =
  | { readonly outcome: 'open' }
  | { readonly outcome: 'refused'; readonly status: number; readonly retryAfterS: number | undefined }
  | { readonly outcome: 'failed'; readonly error: string };

// All sockets of the process read into it: what was read is counted before the next read begins.
const readBuffer = Buffer.allocUnsafeSlow(65_536);
const headerEnd = '\r\n\r\n';

/** One WebSocket that counts what it gets: no events, no promises and no strings for a frame. */
export class LoadClient implements FrameSink, GroupClient {
  readonly user: LoadUser;
  readonly localAddress: string;
  cursor: string | undefined;
  readonly #group: ClientGroup;
  readonly #frames = new FrameReader();
  readonly #isTls: boolean;
  readonly #socket: Socket;
  #head: Buffer | undefined = Buffer.alloc(0);
  #settle: ((opening: Opening) => void) | undefined;
  #nowUs = 0;

  constructor(group: ClientGroup, user: LoadUser, { port, localAddress, isTls = false }: Endpoint, cursor: string | undefined) {
    this.user = user;
    this.localAddress = localAddress;
    this.cursor = cursor;
    this.#group = group;
    const options = {
      ...{ host: '127.0.0.1', port, localAddress, noDelay: true },
      onread: { buffer: readBuffer, callback: (length: number) => this.#read(length) },
    };
    this.#isTls = isTls;
    this.#socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
    this.#socket.once(isTls ? 'secureConnect' : 'connect', () => this.#requestUpgrade());
    this.#socket.once('error', (error) => this.#end({ outcome: 'failed', error: error.message }));
    this.#socket.once('close', () => this.#end({ outcome: 'failed', error: 'closed by the server' }));
  }

  /** Resolves when it is open as its system understands it, or has failed. Once. */
  opened(): Promise<Opening> {
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  send(text: string): void {
    this.#socket.write(maskedText(text));
  }

  /** Resets the connection: nothing lingers in TIME_WAIT. Below TLS there is no way to ask for that. */
  destroy(): void {
    if (this.#isTls) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  onText(bytes: Buffer, start: number, end: number): void {
    if (this.#group.followsCursors) this.cursor = this.#group.cursorOf(bytes, start, end) ?? this.cursor;
    if (this.#group.countEvent(bytes, start, end, this.#nowUs)) {
      const ping = this.#group.protocol.joinedPing;
      if (ping?.marks.some((mark) => isIn(mark, bytes, start, end)) === true) this.send(ping.reply);
      return;
    }
    const answer = this.#group.protocol.answer(bytes.toString('utf8', start, end), this.user);
    if (answer.kind === 'reply') this.send(answer.text);
    else if (answer.kind === 'opened') this.#opened(answer.how);
    else this.#group.countOther(answer.name);
  }

  onPing(payload: Buffer): void {
    this.#socket.write(maskedPong(payload));
  }

  onClose(code: number): void {
    this.#group.countOther(`close ${code}`);
    this.#socket.destroy();
  }

  #requestUpgrade(): void {
    const { protocol } = this.#group;
    this.#socket.write(
      `GET ${protocol.path(this.user, this.cursor)} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==${headerEnd}`,
    );
  }

  #read(length: number): boolean {
    this.#nowUs = monotonicUs();
    if (this.#head === undefined) this.#frames.read(readBuffer, length, this);
    else this.#readHead(Buffer.concat([this.#head, readBuffer.subarray(0, length)]));
    return true;
  }

  #readHead(head: Buffer): void {
    this.#head = head;
    const end = head.indexOf(headerEnd);
    if (end < 0) return;
    const text = head.toString('latin1', 0, end);
    const status = Number(text.slice(9, 12));
    if (status !== 101) {
      const retryAfterS = /^retry-after: (\d+)/im.exec(text)?.[1];
      this.#end({ outcome: 'refused', status, retryAfterS: retryAfterS === undefined ? undefined : Number(retryAfterS) });
      this.destroy();
      return;
    }
    this.#head = undefined;
    const { greeting, opensOn } = this.#group.protocol;
    if (greeting !== undefined) this.send(greeting(this.user));
    if (opensOn === 'upgrade') this.#opened();
    const rest = head.subarray(end + headerEnd.length);
    if (rest.length > 0) this.#frames.read(rest, rest.length, this);
  }

  #opened(how?: string): void {
    if (how !== undefined) this.#group.countOther(how);
    this.#group.add(this);
    this.#resolve({ outcome: 'open' });
  }

  #end(opening: Opening): void {
    this.#group.remove(this);
    this.#resolve(opening);
  }

  #resolve(opening: Opening): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(opening);
  }
}

function isIn(mark: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const at = bytes.indexOf(mark, start);
  return at >= 0 && at + mark.length <= end;
}

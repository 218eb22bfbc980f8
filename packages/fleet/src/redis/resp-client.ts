import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type Reply = string | number | null | readonly Reply[];

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export interface RespAddress {
  readonly port: number;
  readonly tls?: boolean;
  readonly user?: { readonly name: string; readonly password: string };
}

/** As much of a Redis client as tests need to look from outside: one connection, RESP 2, text replies. It doesn't reconnect. */
export class RespClient {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  readonly #authenticated: Promise<Reply>;
  #received = Buffer.alloc(0);

  /** Connects by itself; what is called before that waits. */
  constructor({ port, tls = false, user }: RespAddress) {
    const where = { port, host: '127.0.0.1' };
    this.#socket = tls ? connectTls({ ...where, rejectUnauthorized: false }) : connectTcp(where);
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the connection to Redis was closed'));
    });
    this.#authenticated = user === undefined ? Promise.resolve(null) : this.call('AUTH', user.name, user.password);
    this.#authenticated.catch(() => undefined); // told by `connect`, and by Redis to every call that follows
  }

  /** The same, but resolves when Redis has accepted the user. @throws when it doesn't */
  static async connect(address: RespAddress): Promise<RespClient> {
    const client = new RespClient(address);
    await client.#authenticated;
    return client;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** @throws Redis's own error, or that the connection was closed */
  call(...args: readonly (string | number | Uint8Array)[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) {
        reject(new Error('the connection to Redis is closed'));
        return;
      }
      this.#waiting.push({ resolve, reject });
      this.#socket.write(Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...args.map(bulk)]));
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const parsed = parse(this.#received, 0);
      if (parsed === undefined) return;
      this.#received = this.#received.subarray(parsed.end);
      const waiting = this.#waiting.shift();
      if (parsed.value instanceof Error) waiting?.reject(parsed.value);
      else waiting?.resolve(parsed.value);
    }
  }
}

function bulk(arg: string | number | Uint8Array): Buffer {
  const bytes = Buffer.from(typeof arg === 'number' ? String(arg) : arg);
  return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** `undefined`: the reply is not complete yet. */
function parse(bytes: Buffer, start: number): { value: Reply | Error; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(bytes[start] ?? 0)) {
    case '+':
      return { value: line, end };
    case '-':
      return { value: new Error(line), end };
    case ':':
      return { value: Number(line), end };
    case '$':
      return parseBulk(bytes, Number(line), end);
    case '*':
      return parseArray(bytes, Number(line), end);
    default:
      return { value: new Error(`not RESP: ${bytes.toString('utf8', start, lineEnd)}`), end };
  }
}

function parseBulk(bytes: Buffer, length: number, start: number): { value: Reply; end: number } | undefined {
  if (length < 0) return { value: null, end: start };
  const end = start + length + 2;
  return bytes.length < end ? undefined : { value: bytes.toString('utf8', start, start + length), end };
}

function parseArray(bytes: Buffer, length: number, start: number): { value: Reply | Error; end: number } | undefined {
  if (length < 0) return { value: null, end: start };
  const items: Reply[] = [];
  let end = start;
  let failure: Error | undefined;
  for (let i = 0; i < length; i++) {
    const item = parse(bytes, end);
    if (item === undefined) return undefined;
    end = item.end;
    if (item.value instanceof Error) failure = item.value;
    else items.push(item.value);
  }
  return { value: failure ?? items, end };
}

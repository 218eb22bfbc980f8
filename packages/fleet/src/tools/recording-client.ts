import { WebSocket } from 'ws';
import { eventually } from '../eventually.js';

export interface RecordedFrame {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface OpenOptions {
  /** ws:// or wss://, with the path. */
  readonly url: string;
  readonly token?: string;
  /** How the token is brought; default `query`. */
  readonly via?: 'query' | 'header' | 'subprotocol';
  readonly cursor?: string;
  readonly origin?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A certificate to trust (PEM); without it any is accepted. */
  readonly trusts?: string;
  /** 127.0.0.x: one address has about 28,000 ports for outgoing connections. */
  readonly localAddress?: string;
}

/** The HTTP answer instead of an upgrade. */
export class UpgradeRefusedError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came; `code` is what stands in `error.code` of it. */
  readonly body: string;
  readonly code: string | undefined;

  constructor(status: number, headers: Readonly<Record<string, string | string[] | undefined>>, body: string) {
    super(`upgrade refused: ${status} ${body}`);
    this.name = 'UpgradeRefusedError';
    this.status = status;
    this.headers = headers;
    this.body = body;
    this.code = /"code"\s*:\s*"([^"]*)"/.exec(body)?.[1];
  }
}

/** A WebSocket that keeps every frame it got and does nothing by itself but answer pings. */
export class RecordingClient {
  /** Everything received, oldest first, parsed and as it came. */
  readonly frames: RecordedFrame[] = [];
  readonly texts: string[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  #close: { code: number; reason: string } | undefined;
  #error: Error | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      this.texts.push(text);
      this.frames.push(parseFrame(text));
    });
    // A frame that breaks the protocol comes as an error, then as a close with 1006.
    socket.on('error', (error) => {
      this.#error = error;
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.#close = { code, reason: reason.toString() };
        resolve(this.#close);
      });
    });
  }

  /** Resolves when the socket is open. @throws UpgradeRefusedError on an HTTP answer, else the socket's error */
  static open(options: OpenOptions): Promise<RecordingClient> {
    const { url, protocols, headers } = address(options);
    const socket = new WebSocket(url, protocols, {
      headers,
      perMessageDeflate: false,
      ...(options.origin === undefined ? {} : { origin: options.origin }),
      ...(options.trusts === undefined ? { rejectUnauthorized: false } : { ca: options.trusts }),
      ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
    });
    const client = new RecordingClient(socket);
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(client));
      socket.on('error', reject); // stays: a reset later must not end the test process
      socket.once('unexpected-response', (request, response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.once('end', () => {
          reject(new UpgradeRefusedError(response.statusCode ?? 0, response.headers, body));
          request.destroy();
        });
      });
    });
  }

  get isOpen(): boolean {
    return this.#close === undefined && this.#socket.readyState === WebSocket.OPEN;
  }

  /** What the server chose of the subprotocols. */
  get subprotocol(): string {
    return this.#socket.protocol;
  }

  ofType(type: string): RecordedFrame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  /** The first frame, received already or still to come, that has this type or for which the predicate holds. */
  async waitFor(wanted: string | ((frame: RecordedFrame) => boolean), timeoutMs = 10_000): Promise<RecordedFrame> {
    const matches = typeof wanted === 'string' ? (frame: RecordedFrame): boolean => frame.type === wanted : wanted;
    const what = typeof wanted === 'string' ? `a ${wanted} frame` : 'a frame that was waited for';
    return eventually(
      () => {
        const found = this.frames.find(matches);
        if (found !== undefined) return found;
        throw this.#missing(what);
      },
      { timeoutMs },
    );
  }

  /** A ping and its pong: whatever the gateway had written before is here now. */
  async flush(): Promise<void> {
    const pongs = this.ofType('pong').length;
    this.send({ type: 'ping' });
    await eventually(() => {
      if (this.ofType('pong').length <= pongs) throw this.#missing('a pong');
    });
  }

  send(frame: unknown): void {
    this.#socket.send(JSON.stringify(frame));
  }

  /** As it is: not JSON, or a Buffer for a binary frame. */
  sendRaw(data: string | Buffer): void {
    this.#socket.send(data);
  }

  /** Stops reading from the network: the server's buffers fill. */
  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  async close(code = 1000): Promise<void> {
    this.#socket.close(code);
    await this.closed;
  }

  #missing(what: string): Error {
    const seen = this.frames.map(({ type }) => type).join(' ');
    const closed = this.#close === undefined ? '' : `; closed ${this.#close.code} ${this.#error?.message ?? this.#close.reason}`;
    return new Error(`${what} did not come; seen: ${seen}${closed}`);
  }

  /** As a phone that leaves the network would: no close frame. */
  terminate(): void {
    this.#socket.terminate();
  }
}

function address({ url, token, via = 'query', cursor, headers = {} }: OpenOptions): {
  url: URL;
  protocols: string[];
  headers: Record<string, string>;
} {
  const target = new URL(url);
  if (cursor !== undefined) target.searchParams.set('cursor', cursor);
  if (token === undefined) return { url: target, protocols: [], headers: { ...headers } };
  if (via === 'query') target.searchParams.set('token', token);
  return {
    url: target,
    protocols: via === 'subprotocol' ? ['bearer', token] : [],
    headers: via === 'header' ? { authorization: `Bearer ${token}`, ...headers } : { ...headers },
  };
}

function parseFrame(text: string): RecordedFrame {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string')
    return { ...value, type: value.type };
  throw new Error(`not a frame: ${text.slice(0, 200)}`);
}

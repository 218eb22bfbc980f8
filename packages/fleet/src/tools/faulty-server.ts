import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../network/free-port.js';

export interface OwnerRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; `undefined` when there was none. */
  readonly body: unknown;
}

export interface OwnerAnswer {
  readonly status: number;
  /** A string goes out as it is, anything else as JSON. */
  readonly body: unknown;
}

/** What goes wrong with a request; fields add up. */
export interface Fault {
  readonly delayMs?: number;
  readonly status?: number;
  readonly body?: unknown;
  /** No answer, and the connection stays open. */
  readonly hangs?: boolean;
  /** The connection is reset instead of an answer. */
  readonly resets?: boolean;
}

/** An HTTP server that remembers what it was asked and fails on request. */
export class FaultyServer {
  /** Set it to make requests fail; undefined or an `undefined` from the function: all is well. */
  fault: Fault | ((request: OwnerRequest) => Fault | undefined) | undefined;
  readonly requests: OwnerRequest[] = [];
  readonly #handle: (request: OwnerRequest) => OwnerAnswer;
  #port = 0;
  #server: Server | undefined;
  #inFlight = 0;
  #maxInFlight = 0;

  constructor(handle: (request: OwnerRequest) => OwnerAnswer) {
    this.#handle = handle;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Most requests that were open at once. */
  get maxInFlight(): number {
    return this.#maxInFlight;
  }

  count(path: string | RegExp): number {
    return this.requests.filter((request) => (typeof path === 'string' ? request.path === path : path.test(request.path))).length;
  }

  /** After a `stop`: back on the same port. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    if (this.#port === 0) this.#port = await freePort();
    const server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#server = server;
  }

  /** Connections are cut and new ones refused. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#maxInFlight = Math.max(this.#maxInFlight, ++this.#inFlight);
    response.once('close', () => this.#inFlight--);
    const request = await readRequest(incoming);
    this.requests.push(request);
    const answer = this.#handle(request); // taken now: a slow answer is an old answer
    const fault = (typeof this.fault === 'function' ? this.fault(request) : this.fault) ?? {};
    if (fault.delayMs !== undefined) await sleep(fault.delayMs);
    if (fault.hangs === true) return;
    if (fault.resets === true) {
      incoming.socket.resetAndDestroy();
      return;
    }
    const body = fault.body ?? answer.body;
    response.writeHead(fault.status ?? answer.status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

async function readRequest(incoming: IncomingMessage): Promise<OwnerRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) if (chunk instanceof Buffer) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  const path = (incoming.url ?? '/').split('?', 1)[0] ?? '/';
  return { method: incoming.method ?? 'GET', path: decodeURIComponent(path), headers: incoming.headers, body };
}

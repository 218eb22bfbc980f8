import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a test owner answers one request. */
export interface OwnerReply {
  readonly status?: number;
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly delayMs?: number;
  /** `hang`: never answers. `reset`: cuts the connection. `drip`: a body that never ends. */
  readonly fault?: 'hang' | 'reset' | 'drip';
}

export interface OwnerRequestRecord {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A service that owns cards or messages: a real HTTP server that counts, and misbehaves when told to. */
export class HttpOwner {
  readonly requests: OwnerRequestRecord[] = [];
  inFlight = 0;
  maxInFlight = 0;
  connections = 0;
  /** The value is taken when the request comes in: a slow answer is an old answer. */
  reply: (request: OwnerRequestRecord) => OwnerReply = () => ({ status: 404 });
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  /** Connections are cut and new ones refused, until `start`, which takes the same port. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const record = { method, url, headers, body: Buffer.concat(chunks).toString() };
    this.requests.push(record);
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
    response.on('close', () => this.inFlight--);
    const { status = 200, body = {}, delayMs = 0, fault } = this.reply(record);
    if (delayMs > 0) await sleep(delayMs);
    if (fault === 'hang') return;
    if (fault === 'reset') return void response.destroy();
    response.writeHead(status, { 'content-type': 'application/json' });
    if (fault === 'drip') return void drip(response);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

async function drip(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write(' ');
    await sleep(5);
  }
}

/** What a user-service answers: whoever has no name here has a default one. */
export function userReply(url: string, names: ReadonlyMap<string, string> = new Map()): OwnerReply {
  const id = decodeURIComponent(/^\/internal\/users\/([^/]+)\/card$/.exec(url)?.[1] ?? '');
  const name = names.get(id) ?? `Name of ${id}`;
  return id === '' ? { status: 404 } : { body: { user_id: id, display_name: name } };
}

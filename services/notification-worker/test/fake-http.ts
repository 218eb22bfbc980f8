import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

type Answer = { status?: number; body?: unknown } | 'hang';

/** A small HTTP server that remembers what it was asked and answers as the test says. */
export class FakeHttp {
  readonly asked: Asked[] = [];
  answer: (asked: Asked) => Answer | Promise<Answer>;
  readonly #server: Server;

  constructor(answer: (asked: Asked) => Answer | Promise<Answer>) {
    this.answer = answer;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const asked = { method: request.method ?? '', url: request.url ?? '', authorization: request.headers.authorization, body };
    this.asked.push(asked);
    const answer = await this.answer(asked);
    if (answer === 'hang') return;
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body ?? {}));
  }
}

/** `GET` and `POST /internal/presence` as the gateway answers them: who is not named is offline. */
export class FakeGateway extends FakeHttp {
  readonly online = new Set<string>();
  isDegraded = false;

  constructor() {
    super((asked) => this.#presence(asked));
  }

  #presence({ method, url, body }: Asked): Answer {
    const query = new URL(url, 'http://gateway').search.slice('?users='.length);
    const users = method === 'GET' ? query.split(',').map(decodeURIComponent) : (JSON.parse(body) as { users: string[] }).users;
    const status = (user: string): string => (this.isDegraded ? 'unknown' : this.online.has(user) ? 'online' : 'offline');
    const presence = Object.fromEntries(users.map((user) => [user, { status: status(user) }]));
    return { body: this.isDegraded ? { presence, degraded: true } : { presence } };
  }
}

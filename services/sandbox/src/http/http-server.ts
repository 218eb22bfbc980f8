import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Component, Logger } from '@event-gateway/runtime';
import { Refusal } from '../refusal.js';
import { HttpRequest } from './http-request.js';
import type { Reply, Router } from './router.js';

export interface HttpServerOptions {
  readonly host: string;
  /** 0: a free one, see `port`. */
  readonly port: number;
  readonly maxBodyBytes: number;
}

/** The one HTTP port. Every refusal has the body `{"error": {"code", "message"}}`. */
export class HttpServer implements Component {
  readonly name = 'http';
  readonly #router: Router;
  readonly #logger: Logger;
  readonly #options: HttpServerOptions;
  readonly #server: Server;

  constructor(router: Router, logger: Logger, options: HttpServerOptions) {
    this.#router = router;
    this.#logger = logger;
    this.#options = options;
    // Longer than any client's pool keeps a connection: whoever closes second never sends into a closed one.
    this.#server = createServer({ keepAliveTimeout: 65_000 }, (incoming, outgoing) => void this.#serve(incoming, outgoing));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  /** No new connections; resolves when the requests under way are answered. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
  }

  stop(): void {
    this.#server.closeAllConnections();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    try {
      write(outgoing, await this.#answer(new HttpRequest(incoming, this.#options.maxBodyBytes)));
      // A body that nobody read (a refusal came first) would be taken for the next request of this connection.
      incoming.resume();
    } catch (error) {
      // A client that went away in the middle of its body is no fault of ours.
      if (incoming.destroyed && !incoming.complete) return void outgoing.destroy();
      this.#logger.error({ error, method: incoming.method }, 'request failed');
      if (outgoing.headersSent) return void outgoing.destroy();
      write(outgoing, { status: 500, body: { error: { code: 'internal', message: 'something went wrong here' } } });
    }
  }

  async #answer(request: HttpRequest): Promise<Reply> {
    const match = this.#router.match(request.method, request.path);
    if (match === 'bad_path') return refusalReply(new Refusal('bad_request', 'an id in the path is not one'));
    if (match === 'not_found') return refusalReply(new Refusal('not_found', 'there is nothing here'));
    if ('allowed' in match) {
      return refusalReply(new Refusal('method_not_allowed', 'this path has other methods'), { allow: match.allowed.join(', ') });
    }
    const reply = await match.route.handle(request, match.parameters);
    if (!(reply instanceof Refusal)) return reply;
    // What is left of an oversized body is not waited for.
    return refusalReply(reply, reply.code === 'payload_too_large' ? { connection: 'close' } : {});
  }
}

function refusalReply(refusal: Refusal, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: refusal.status, body: { error: { code: refusal.code, message: refusal.message } }, headers };
}

function write(outgoing: ServerResponse, { status = 200, body, content, headers = {} }: Reply): void {
  const bytes = content?.bytes ?? (body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  const type = content?.type ?? 'application/json; charset=utf-8';
  outgoing.writeHead(status, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(bytes === undefined ? {} : { 'content-type': type, 'content-length': bytes.length }),
    ...headers,
  });
  outgoing.end(bytes);
}

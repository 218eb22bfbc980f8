import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '@event-gateway/runtime';
import { type Answer, json, refused } from './answer.js';
import { hasBearer } from './bearer.js';
import { BoundedSockets } from './bounded-sockets.js';
import { disconnectRoute, type PublishControl } from './disconnect-route.js';
import { healthzRoute, type MetricsPort, metricsRoute, type ReadinessPort, readyzRoute } from './health-routes.js';
import { type PresenceQuery, presenceRoutes } from './presence-routes.js';
import { type ReplicaList, replicasRoute } from './replicas-route.js';
import { Router } from './router.js';

export interface InternalApiDeps {
  readonly logger: Logger;
  readonly presence: PresenceQuery;
  readonly replicas: ReplicaList;
  readonly publishControl: PublishControl;
  readonly readiness: ReadinessPort;
  readonly metrics: MetricsPort;
}

export interface InternalApiOptions {
  readonly internalHost: string;
  /** 0 takes any free one. */
  readonly internalPort: number;
  /** Asked of `/internal/*` as a bearer; nothing is asked when undefined. */
  readonly internalToken: string | undefined;
}

const limits = {
  /** 1,000 users of 128 ASCII characters fit into a GET. */
  maxHeaderSize: 262_144,
  /** One that is slow with its headers or its body is not served. */
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 10_000,
} as const;

/** A client that takes nothing of its answer is cut. */
const idleSocketMs = 30_000;

/** The cap of open sockets counts on no more than these. */
const maxInternalConnections = 128;

/** The HTTP of the internal port: presence, disconnect, replicas, health, metrics. Nothing of it is on the public port. */
export class InternalApi {
  readonly name = 'internal-api';
  readonly #logger: Logger;
  readonly #options: InternalApiOptions;
  readonly #router: Router;
  #server: Server | undefined;

  constructor(deps: InternalApiDeps, options: InternalApiOptions) {
    this.#logger = deps.logger;
    this.#options = options;
    this.#router = new Router()
      .add('/internal/presence', presenceRoutes(deps.presence))
      .add('/internal/users/:id/disconnect', { POST: disconnectRoute(deps.publishControl, deps.logger) })
      .add('/internal/replicas', { GET: replicasRoute(deps.replicas) })
      .add('/healthz', { GET: healthzRoute })
      .add('/readyz', { GET: readyzRoute(deps.readiness) })
      .add('/metrics', { GET: metricsRoute(deps.metrics) });
  }

  /** Rejects when the port cannot be had. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const sockets = new BoundedSockets(maxInternalConnections);
    const server = createServer(limits, (request, response) => {
      const { socket } = request;
      sockets.asks(socket);
      response.once('close', () => sockets.answered(socket));
      void this.#serve(request, response);
    });
    this.#server = server;
    server.on('connection', (socket) => sockets.opened(socket));
    server.setTimeout(idleSocketMs);
    server.on('clientError', refuseMalformed);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#options.internalPort, this.#options.internalHost, resolve);
    });
    this.#logger.info({ port: this.port }, 'internal port open');
  }

  /** The port that is listened on; undefined while there is none. */
  get port(): number | undefined {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? (address satisfies AddressInfo).port : undefined;
  }

  /** Closes at once, requests in flight included. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#answer(request).catch((error: unknown) => this.#fault(request, error));
    if (answer === undefined || response.destroyed) return;
    response.writeHead(answer.status, {
      'content-type': answer.contentType,
      'content-length': Buffer.byteLength(answer.body),
      'cache-control': 'no-store',
      ...answer.headers,
    });
    response.end(answer.body);
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { method = '', url = '', headers } = request;
    const queryAt = url.indexOf('?');
    const path = queryAt < 0 ? url : url.slice(0, queryAt);
    const { internalToken } = this.#options;
    if (internalToken !== undefined && isInternal(path) && !hasBearer(headers.authorization, internalToken)) {
      return refused('unauthorized', 'a bearer token is required', { 'www-authenticate': 'Bearer' });
    }
    const match = this.#router.match(method, path);
    if ('handler' in match) {
      return match.handler({ params: match.params, query: queryAt < 0 ? '' : url.slice(queryAt + 1), message: request });
    }
    switch (match.miss) {
      case 'not_found':
        return refused('not_found', 'there is nothing here');
      case 'bad_path':
        return refused('bad_request', 'the path is not percent-encoded as it should be');
      case 'method_not_allowed':
        return refused('method_not_allowed', `this path answers ${match.allow}`, { allow: match.allow });
    }
  }

  /** A client that went away in the middle is told nothing; everything else is a fault of ours. */
  #fault(request: IncomingMessage, error: unknown): Answer | undefined {
    if (request.destroyed && !request.complete) return undefined;
    this.#logger.error({ error }, 'internal request failed');
    return json(500, { error: { code: 'internal_error', message: 'the request failed' } });
  }
}

function isInternal(path: string): boolean {
  return path === '/internal' || path.startsWith('/internal/');
}

/** What Node could not read as a request, or not in time. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, message] = malformed(error.code);
  const body = JSON.stringify({ error: { code: 'bad_request', message } });
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
}

function malformed(code: string | undefined): readonly [status: string, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') return ['431 Request Header Fields Too Large', 'the request line and headers are too long'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return ['408 Request Timeout', 'the request took too long'];
  return ['400 Bad Request', 'this is not an HTTP request'];
}

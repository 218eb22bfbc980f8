import uWS from 'uWebSockets.js';
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import type { Clock } from '@event-gateway/runtime';
import type { Connection } from '../hub/connection.js';
import { RequestPacer, type UnreadSocket } from './request-pacer.js';
import type { SendVerdict, Socket } from './socket.js';

/** What an upgrade request says, copied: the request is gone after the first await. */
export interface UpgradeRequest {
  /** The raw query string, percent-encoded. */
  readonly query: string;
  readonly authorization: string;
  readonly subprotocols: string;
  readonly origin: string;
}

export interface HttpRefusal {
  readonly status: 401 | 403 | 404 | 426 | 503;
  readonly code: string;
  readonly message: string;
  /** Whole seconds. */
  readonly retryAfterS?: number;
}

/** An upgrade that was granted. `release` gives its place back if no socket comes of it. */
export interface Acceptance {
  readonly subprotocol: string | undefined;
  /** Takes the open socket; from here on the connection owns it. */
  open(socket: Socket): Connection;
  release(): void;
}

export interface UwsServerOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Above every limit of ours: the transport cuts silently at its own. */
  readonly maxPayloadBytes: number;
  readonly maxBackpressureBytes: number;
  /** The transport's own idle timeout, which also ends sockets that do not answer a close frame. 8 to 960. */
  readonly idleTimeoutS: number;
  /** How many requests of new sockets are read in a second, as long as no crowd stands in line. */
  readonly requestsPerSecond: number;
  /** What the process has descriptors for. Whoever comes beyond that is closed unread: at the limit itself the transport would spin. */
  readonly maxSockets: number;
}

export interface UwsServerHandlers {
  decide(request: UpgradeRequest): HttpRefusal | Acceptance | Promise<HttpRefusal | Acceptance>;
  /** How many of the sockets are connections by now. */
  connectionCount(): number;
  /** A socket was closed unread: there was no room to refuse it. */
  onTurnedAway(): void;
  /** `bytes` is a copy. */
  message(connection: Connection, bytes: Buffer, isBinary: boolean): void;
}

interface UserData {
  /** Until the socket is open: it holds all that was asked of the request, for as long as somebody holds it. */
  acceptance: Acceptance | undefined;
  socket: UwsSocket | undefined;
  connection: Connection | undefined;
}

const statusTexts: Readonly<Record<HttpRefusal['status'], string>> = {
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  426: '426 Upgrade Required',
  503: '503 Service Unavailable',
};

const upgradeRequired: HttpRefusal = { status: 426, code: 'upgrade_required', message: 'This path speaks WebSocket only.' };
const notFound: HttpRefusal = { status: 404, code: 'not_found', message: 'There is nothing here.' };

/** What the line of those who wait may not take of all sockets: whoever comes beyond that is read at once, and gone. */
const keptFromLine = 0.05;

/** The public port. The only file that knows uWebSockets.js. */
export class UwsServer {
  readonly name = 'websocket-port';
  readonly #options: UwsServerOptions;
  readonly #handlers: UwsServerHandlers;
  readonly #pacer: RequestPacer;
  /** Sockets that have not been upgraded. */
  #handshaking = 0;
  #app: TemplatedApp | undefined;
  #listening: us_listen_socket | undefined;

  constructor(handlers: UwsServerHandlers, clock: Clock, options: UwsServerOptions) {
    this.#handlers = handlers;
    this.#options = options;
    this.#pacer = new RequestPacer(clock, options.requestsPerSecond);
  }

  /** @throws if the address cannot be listened on. */
  start(): Promise<void> {
    const { host, port, path } = this.#options;
    this.#app ??= uWS
      .App()
      .ws<UserData>(path, this.#behavior())
      .head(path, this.#refusing(upgradeRequired, refuseHead))
      .any(path, this.#refusing(upgradeRequired))
      .head('/*', this.#refusing(notFound, refuseHead))
      .any('/*', this.#refusing(notFound))
      .filter((response, change) => {
        if (Number(change) > 0) this.#onAccepted(response);
        else this.#handshaking--;
      });
    const app = this.#app;
    return new Promise((resolve, reject) => {
      listenExclusively(app, host, port, (listening) => {
        if (listening === false) return reject(new Error(`cannot listen on ${host}:${port}`));
        this.#listening = listening;
        resolve();
      });
    });
  }

  /** The end of a drain, not its beginning: during it those who come are answered, and wait in line for that. */
  stop(): void {
    if (this.#listening !== undefined) uWS.us_listen_socket_close(this.#listening);
    this.#listening = undefined;
    this.#pacer.stop();
  }

  #onAccepted(response: HttpResponse): void {
    this.#handshaking++;
    const free = this.#options.maxSockets - this.#handlers.connectionCount() - this.#handshaking;
    if (free >= 0) return this.#pacer.onAccepted(new NewSocket(response), free >= keptFromLine * this.#options.maxSockets);
    this.#handlers.onTurnedAway();
    response.close();
  }

  #behavior(): uWS.WebSocketBehavior<UserData> {
    const { maxPayloadBytes, maxBackpressureBytes, idleTimeoutS } = this.#options;
    return {
      compression: uWS.DISABLED,
      maxPayloadLength: maxPayloadBytes,
      maxBackpressure: maxBackpressureBytes,
      idleTimeout: idleTimeoutS,
      sendPingsAutomatically: false,
      upgrade: (response, request, context) => this.#upgrade(response, request, context),
      open: (ws) => {
        this.#handshaking--;
        const data = ws.getUserData();
        data.socket = new UwsSocket(ws);
        data.connection = data.acceptance?.open(data.socket);
        data.acceptance = undefined;
      },
      message: (ws, message, isBinary) => {
        const { connection } = ws.getUserData();
        // The bytes are the transport's and are gone when this returns.
        if (connection !== undefined) this.#handlers.message(connection, Buffer.from(message.slice(0)), isBinary);
      },
      ping: touch,
      pong: touch,
      drain: (ws) => ws.getUserData().connection?.onDrain(),
      close: (ws) => {
        const { socket, connection } = ws.getUserData();
        socket?.forget();
        connection?.onTransportClosed();
      },
    };
  }

  /** Routes where there is no WebSocket. */
  #refusing(refusal: HttpRefusal, answer = refuse): (response: HttpResponse) => void {
    return (response) => {
      this.#pacer.onRequest();
      answer(response, refusal);
    };
  }

  #upgrade(response: HttpResponse, request: HttpRequest, context: us_socket_context_t): void {
    this.#pacer.onRequest();
    if (!asksForWebSocket(request)) return refuse(response, upgradeRequired);
    const key = request.getHeader('sec-websocket-key');
    const extensions = request.getHeader('sec-websocket-extensions');
    const decision = this.#handlers.decide({
      query: request.getQuery(),
      authorization: request.getHeader('authorization'),
      subprotocols: request.getHeader('sec-websocket-protocol'),
      origin: request.getHeader('origin'),
    });
    if (!(decision instanceof Promise))
      return 'status' in decision ? refuse(response, decision) : accept(response, decision, key, extensions, context);
    let isAborted = false;
    response.onAborted(() => {
      isAborted = true;
    });
    // Not in a microtask: those also run inside the parser of whichever request comes next.
    void decision.then((decided) =>
      setImmediate(() => {
        if (isAborted) {
          if (!('status' in decided)) decided.release();
        } else if ('status' in decided) response.cork(() => refuse(response, decided));
        // Not in `cork`: where the socket keeps its address, the transport does not notice that it has been upgraded in there, takes the
        // WebSocket's memory for the state of a response and closes it when that seems to ask for it (uWebSockets, before pull request
        // 1929). The price is a packet for each piece of the answer, and a warning of the transport's on stderr.
        else accept(response, decided, key, extensions, context);
      }),
    );
  }
}

/** A socket before its first request. */
class NewSocket implements UnreadSocket {
  #response: HttpResponse | undefined;

  constructor(response: HttpResponse) {
    this.#response = response;
  }

  pause(): void {
    this.#response
      ?.onAborted(() => {
        this.#response = undefined;
      })
      .pause();
  }

  resume(): void {
    this.#response?.resume();
  }
}

/** The one owner of "is it still open": a closed uWS socket throws on touch. */
class UwsSocket implements Socket {
  #ws: WebSocket<UserData> | undefined;

  constructor(ws: WebSocket<UserData>) {
    this.#ws = ws;
  }

  send(frame: Uint8Array | string): SendVerdict {
    if (this.#ws === undefined) return 'dropped';
    switch (this.#ws.send(frame, false)) {
      case 1:
        return 'sent';
      case 0:
        return 'buffered';
      default:
        return 'dropped';
    }
  }

  bufferedBytes(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  cork(write: () => void): void {
    this.#ws?.cork(write);
  }

  ping(): void {
    this.#ws?.ping();
  }

  end(code: number, reason: string): void {
    const ws = this.#ws;
    // uWS calls the close handler from inside `end`.
    this.#ws = undefined;
    ws?.end(code, reason);
  }

  forget(): void {
    this.#ws = undefined;
  }
}

/**
 * Without the exclusive option two replicas that are given one port by accident would share its sockets at random. The library
 * takes host and options together, its types know them only apart.
 */
function listenExclusively(app: TemplatedApp, host: string, port: number, done: (listening: us_listen_socket | false) => void): void {
  const exclusive = 1;
  Reflect.apply(Reflect.get(app, 'listen'), app, [host, port, exclusive, done]);
}

/** The transport goes by the key alone. */
function asksForWebSocket(request: HttpRequest): boolean {
  return /\bwebsocket\b/i.test(request.getHeader('upgrade')) && /^(13)?$/.test(request.getHeader('sec-websocket-version'));
}

function touch(ws: WebSocket<UserData>): void {
  ws.getUserData().connection?.onActivity();
}

function accept(response: HttpResponse, acceptance: Acceptance, key: string, extensions: string, context: us_socket_context_t): void {
  const data: UserData = { acceptance, socket: undefined, connection: undefined };
  response.upgrade(data, key, acceptance.subprotocol ?? '', extensions, context);
}

/** And ends the connection: its next request would be one that nobody has paced. */
function refuse(response: HttpResponse, refusal: HttpRefusal): void {
  const { code, message } = refusal;
  writeHead(response, refusal).end(JSON.stringify({ error: { code, message } }), true);
}

/**
 * A body that nobody expects would be read as the connection's next answer. Its length is not told: given one, the transport takes the
 * request for unanswered and ends the process.
 */
function refuseHead(response: HttpResponse, refusal: HttpRefusal): void {
  writeHead(response, refusal).endWithoutBody();
}

function writeHead(response: HttpResponse, { status, retryAfterS }: HttpRefusal): HttpResponse {
  response.writeStatus(statusTexts[status]).writeHeader('Content-Type', 'application/json').writeHeader('Cache-Control', 'no-store');
  return retryAfterS === undefined ? response : response.writeHeader('Retry-After', String(retryAfterS));
}

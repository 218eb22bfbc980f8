import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ModelConnection, ModelGateway } from './model-gateway.js';

/** What one upgrade asked for. */
export interface Handshake {
  readonly cursor: string | null;
  readonly protocols: string[];
  readonly token: string;
}

/**
 * The model gateway behind real sockets on loopback: it can be killed and come back on its port, refuse, drain, and stop reading.
 * A token is `<user>.<anything>.<anything>`; who it is for is all that is checked.
 */
export class ContractServer {
  readonly gateway: ModelGateway;
  readonly handshakes: Handshake[] = [];
  /** What clients sent, by type. */
  readonly received: Record<string, unknown>[] = [];
  /** Upgrades are refused with this status. */
  refuseWith: number | undefined;
  /** Nothing that comes in is read any more: the other end has to notice. */
  isDeaf = false;
  /** Handshakes that the server has accepted and not yet lost. */
  readonly #sockets = new Map<WebSocket, ModelConnection>();
  #server: Server | undefined;
  #port = 0;

  constructor(gateway = new ModelGateway()) {
    this.gateway = gateway;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}/api/v1/ws`;
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  /** Also after a kill: on the same port. */
  async start(): Promise<this> {
    const webSockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'bearer' });
    const server = createServer((_request, response) => response.writeHead(426).end());
    server.on('upgrade', (request, socket, head) => {
      if (this.refuseWith !== undefined) return refuse(socket, this.refuseWith);
      webSockets.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, request));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  /** As kill -9: no close frame, no farewell. */
  async kill(): Promise<void> {
    this.cut();
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** Every connection breaks, without a close frame. */
  cut(): void {
    for (const [webSocket, connection] of this.#sockets) {
      connection.gone();
      webSocket.terminate();
    }
    this.#sockets.clear();
  }

  closeAll(code: number): void {
    for (const webSocket of this.#sockets.keys()) webSocket.close(code);
  }

  drain(afterMs: number): void {
    for (const connection of this.#sockets.values()) connection.push({ type: 'reconnect', after_ms: afterMs, cursor: this.gateway.cursor });
    this.closeAll(1012);
  }

  /** To everybody. */
  push(frame: object): void {
    for (const connection of this.#sockets.values()) connection.push(frame);
  }

  receivedOf(type: string): Record<string, unknown>[] {
    return this.received.filter((frame) => frame['type'] === type);
  }

  #accept(webSocket: WebSocket, request: IncomingMessage): void {
    const query = new URL(request.url ?? '', 'ws://host').searchParams;
    const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
    const token = protocols[1] ?? query.get('token') ?? '';
    this.handshakes.push({ cursor: query.get('cursor'), protocols, token });
    const socket = { frame: (frame: object) => webSocket.send(JSON.stringify(frame)), close: (code: number) => webSocket.close(code) };
    const connection = this.gateway.connect(socket, query.get('cursor'), token.split('.')[0], true);
    this.#sockets.set(webSocket, connection);
    webSocket.on('message', (data) => {
      if (this.isDeaf) return;
      const frame: Record<string, unknown> = JSON.parse(String(data));
      this.received.push(frame);
      connection.receive(frame);
      // The messenger takes its time, so that live frames come in between.
      if (frame['type'] === 'sync') setTimeout(() => connection.answer(), 20);
    });
    webSocket.on('close', () => {
      connection.gone();
      this.#sockets.delete(webSocket);
    });
    webSocket.on('error', () => webSocket.terminate());
  }
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

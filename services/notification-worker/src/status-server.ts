import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Component, Metrics } from '@event-gateway/runtime';

/** `GET /healthz` and `GET /metrics`. */
export class StatusServer implements Component {
  readonly name = 'status';
  readonly #host: string;
  readonly #port: number;
  readonly #server: Server;

  constructor(metrics: Metrics, host: string, port: number) {
    this.#host = host;
    this.#port = port;
    this.#server = createServer((request, response) => {
      if (request.url === '/healthz') return void response.end('{"ok":true}');
      if (request.url !== '/metrics') return void response.writeHead(404).end();
      void metrics.text().then((page) => response.setHeader('content-type', metrics.contentType).end(page));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, this.#host, resolve);
    });
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Serves the page, the client's bundle and tokens; it goes on while the gateway is away. */
export class PageServer {
  readonly #bundle: string;
  /** Whether each token that was asked for had to be a fresh one. */
  readonly refreshes: boolean[] = [];
  #server: Server | undefined;

  constructor(bundle: string) {
    this.#bundle = bundle;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server?.address() as AddressInfo).port}/`;
  }

  async start(): Promise<this> {
    const page = await readFile(new URL('page.html', import.meta.url), 'utf8');
    const bundle = await readFile(this.#bundle, 'utf8');
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://host');
      if (url.pathname === '/client.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(bundle);
      else if (url.pathname === '/token') {
        const isFresh = url.searchParams.get('refresh') === 'true';
        this.refreshes.push(isFresh);
        response.end(`u1.${isFresh ? 'fresh' : 'cached'}.${this.refreshes.length}`);
      } else response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    return this;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

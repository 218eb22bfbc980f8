import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

/** A TCP proxy that can stop passing answers on: what is sent arrives, and nobody hears that it did. */
export class SilentProxy {
  #isSilent = false;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#connect(client));
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  silence(): void {
    this.#isSilent = true;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #connect(client: Socket): void {
    const upstream = createConnection(this.#port, '127.0.0.1');
    client.pipe(upstream);
    upstream.on('data', (data) => {
      if (!this.#isSilent) client.write(data);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}

import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes from the server that wait for `releaseAnswers`. */
  readonly held: Buffer[];
  isSilent: boolean;
}

/**
 * A TCP proxy on the loopback interface that misbehaves on request. What a call changes holds for connections that are open and,
 * unless it says otherwise, for those that come later.
 */
export class TcpProxy {
  readonly port: number;
  readonly #targetPort: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #delayMs = 0;
  #holdsAnswers = false;
  #isFrozen = false;
  #refuses = false;
  #accepted = 0;

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(await freePort(), targetPort);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(proxy.port, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get openConnections(): number {
    return this.#pairs.size;
  }

  get acceptedConnections(): number {
    return this.#accepted;
  }

  /** Every chunk arrives this much later, in both directions; order is kept as long as the delay does not shrink. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Every open connection is reset; new ones work, and what was held for the old ones is lost. */
  cut(): void {
    for (const pair of this.#pairs) destroy(pair);
  }

  /** New connections are closed at once, until `accept`. */
  refuse(): void {
    this.#refuses = true;
  }

  accept(): void {
    this.#refuses = false;
  }

  /** What the server answers waits here until `releaseAnswers`, or is lost with `cut`; requests pass. */
  holdAnswers(): void {
    this.#holdsAnswers = true;
  }

  releaseAnswers(): void {
    this.#holdsAnswers = false;
    for (const pair of this.#pairs) for (const chunk of pair.held.splice(0)) pair.client.write(chunk);
  }

  /** Nothing is read from either side: nothing passes, nothing is lost, the senders' buffers fill. */
  freeze(): void {
    this.#isFrozen = true;
    for (const { client, server } of this.#pairs) for (const side of [client, server]) side.pause();
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const { client, server } of this.#pairs) for (const side of [client, server]) side.resume();
  }

  /** Open connections go silent for ever, without FIN or RST, as behind a dead firewall; new ones work. */
  blackhole(): void {
    for (const pair of this.#pairs) pair.isSilent = true;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    this.#accepted++;
    client.on('error', () => client.destroy());
    if (this.#refuses) {
      client.destroy();
      return;
    }
    const server = connect(this.#targetPort, '127.0.0.1');
    const pair: Pair = { client, server, held: [], isSilent: false };
    this.#pairs.add(pair);
    server.on('error', () => server.destroy());
    client.on('data', (chunk: Buffer) => this.#pass(pair, client, server, chunk));
    server.on('data', (chunk: Buffer) => this.#answer(pair, chunk));
    const close = (): void => {
      if (pair.isSilent && !(client.destroyed && server.destroyed)) return; // a black hole tells nobody
      this.#pairs.delete(pair);
      destroy(pair);
    };
    client.on('close', close);
    server.on('close', close);
    if (this.#isFrozen) for (const side of [client, server]) side.pause();
  }

  #answer(pair: Pair, chunk: Buffer): void {
    if (this.#holdsAnswers && !pair.isSilent) pair.held.push(chunk);
    else this.#pass(pair, pair.server, pair.client, chunk);
  }

  #pass(pair: Pair, from: Socket, to: Socket, chunk: Buffer): void {
    if (pair.isSilent) return;
    if (this.#delayMs > 0) {
      setTimeout(() => this.#write(from, to, chunk), this.#delayMs);
      return;
    }
    this.#write(from, to, chunk);
  }

  #write(from: Socket, to: Socket, chunk: Buffer): void {
    if (to.destroyed || to.write(chunk)) return;
    // A receiver that does not read must be felt by the sender, as it would be without a proxy in between.
    from.pause();
    to.once('drain', () => {
      if (!this.#isFrozen) from.resume();
    });
  }
}

function destroy({ client, server }: Pair): void {
  client.resetAndDestroy();
  server.resetAndDestroy();
}

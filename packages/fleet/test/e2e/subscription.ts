import { connect } from 'node:net';

/** What is published on a channel of Redis from now on: whoever listens there can do nothing else on that connection. */
export class Subscription {
  readonly #socket;
  readonly #channel: string;
  #received = '';

  constructor(port: number, channel: string) {
    this.#channel = channel;
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setEncoding('utf8').on('data', (chunk: string) => {
      this.#received += chunk;
    });
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.write(`SUBSCRIBE ${channel}\r\n`);
  }

  /** Every message so far, parsed. */
  get messages(): Record<string, unknown>[] {
    const texts = this.#received.split(`message\r\n$${this.#channel.length}\r\n${this.#channel}\r\n`).slice(1);
    return texts.map((text) => JSON.parse(/^\$\d+\r\n(.*)\r\n/.exec(text)?.[1] ?? 'null'));
  }

  stop(): void {
    this.#socket.destroy();
  }
}

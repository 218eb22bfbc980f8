import type { Socket } from 'node:net';

/**
 * The connections of a port, at most so many. Over the bound the newest is served, and the one that has asked nothing for longest is cut:
 * a crowd that only holds connections keeps neither probes nor anybody else out. Where all of them wait for an answer, the oldest goes.
 */
export class BoundedSockets {
  readonly #max: number;
  /** Oldest first. */
  readonly #quiet = new Set<Socket>();
  readonly #asking = new Set<Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  opened(socket: Socket): void {
    if (this.#quiet.size + this.#asking.size >= this.#max) this.#cutOne();
    this.#quiet.add(socket);
    socket.once('close', () => this.#forget(socket));
  }

  /** A request has come over it. */
  asks(socket: Socket): void {
    if (this.#quiet.delete(socket)) this.#asking.add(socket);
  }

  /** Its request is over. */
  answered(socket: Socket): void {
    if (this.#asking.delete(socket)) this.#quiet.add(socket);
  }

  #cutOne(): void {
    for (const socket of [...this.#quiet, ...this.#asking].slice(0, 1)) {
      // Gone for us from now on: its close comes a turn later.
      this.#forget(socket);
      socket.destroy();
    }
  }

  #forget(socket: Socket): void {
    this.#quiet.delete(socket);
    this.#asking.delete(socket);
  }
}

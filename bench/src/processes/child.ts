import { type ChildProcess, fork } from 'node:child_process';
import { type Calls, isCallAnswer } from './child-calls.js';

interface Waiting {
  readonly settle: (reply: unknown) => void;
  readonly fail: (error: Error) => void;
}

/**
 * A process of the bench's own that does a part of the work beside this one. Both ends are this build, so replies are believed. It
 * ends when its parent does.
 */
export class Child<C extends Calls> {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** @param module the file that calls `serveParent` */
  constructor(name: string, module: URL, { ownSession = false }: { readonly ownSession?: boolean } = {}) {
    this.name = name;
    this.#process = fork(module, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced', detached: ownSession });
    this.#process.on('message', (message) => this.#settle(message));
    this.#process.once('exit', (code, signal) => this.#failAll(`${name} ended (${signal ?? code})`));
  }

  /** @throws when it could not be started */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error(`${this.name} has not started`);
    return this.#process.pid;
  }

  /** @throws what went wrong over there, and when it has ended */
  call<N extends keyof C & string>(name: N, request: C[N]['request']): Promise<C[N]['reply']> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { settle: resolve, fail: reject });
      this.#process.send({ id, name, request }, (error) => {
        if (error !== null) this.#failAll(error.message);
      });
    });
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await exited;
  }

  #settle(message: unknown): void {
    if (!isCallAnswer(message)) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.settle(message.reply);
    else waiting?.fail(new Error(`${this.name}: ${message.error}`));
  }

  #failAll(why: string): void {
    for (const { fail } of this.#waiting.values()) fail(new Error(why));
    this.#waiting.clear();
  }
}

import type { FleetHome } from '../processes/fleet-home.js';
import type { Exit, FleetProcess } from '../processes/fleet-process.js';
import { waitUntilReady } from '../processes/wait-until-ready.js';
import { inRepository } from '../repository.js';

export type Environment = Readonly<Record<string, string>>;

export interface ServiceSpec {
  readonly home: FleetHome;
  /** Of its log, and in errors. */
  readonly name: string;
  /** The folder under services/. */
  readonly service: 'gateway' | 'sandbox' | 'notification-worker';
  /** Where an answer of 200 means that it is ready. */
  readonly readyUrl: string;
  readonly env: Environment;
  /** The process's own limit of file descriptors; default: the one of whoever starts it. */
  readonly maxOpenFiles?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One of the project's own services as an operator has it: an environment, a log, signals. */
export class NodeService {
  readonly name: string;
  readonly #spec: ServiceSpec;
  #process: FleetProcess | undefined;

  constructor(spec: ServiceSpec) {
    this.name = spec.name;
    this.#spec = spec;
  }

  get pid(): number {
    return this.#started().pid;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false;
  }

  get exited(): Promise<Exit> {
    return this.#started().exited;
  }

  /**
   * Starts it and waits until it is ready.
   * @param env over its environment, for this start only
   * @throws with the last log lines when it ends or is not ready within 30 s
   */
  async start(env: Environment = {}): Promise<void> {
    this.launch(env);
    await this.untilReady();
  }

  /** Starts it without waiting. */
  launch(env: Environment = {}, args: readonly string[] = []): void {
    if (this.isRunning) throw new Error(`${this.name} is running already`);
    const command = [process.execPath, inRepository(`services/${this.#spec.service}/dist/main.js`), ...args];
    this.#process = this.#spec.home.spawn({
      name: this.name,
      ...limited(command, this.#spec.maxOpenFiles),
      env: { NODE_ENV: 'production', HOST: '127.0.0.1', ...this.#spec.env, ...env },
    });
  }

  async untilReady(timeoutMs = 30_000): Promise<void> {
    await waitUntilReady(this.#started(), () => this.#probe(), timeoutMs);
  }

  /** kill -9. */
  async kill(): Promise<Exit> {
    return this.#started().kill();
  }

  /** SIGSTOP: its sockets stay open and nobody is at home. */
  pause(): void {
    this.#started().pause();
  }

  resume(): void {
    this.#started().resume();
  }

  signal(signal: NodeJS.Signals): void {
    this.#started().signal(signal);
  }

  /** SIGTERM, as a deploy does. Resolves when it has ended. */
  async drain(): Promise<Exit> {
    this.signal('SIGTERM');
    return this.exited;
  }

  async restart(env: Environment = {}): Promise<void> {
    await this.#process?.kill();
    await this.start(env);
  }

  /** Everything that it has written, over all starts. */
  log(): string {
    return this.#started().output();
  }

  async #probe(): Promise<true | string> {
    try {
      const { status, text } = await httpRequest(this.#spec.readyUrl, { timeoutMs: 1000 });
      return status === 200 || `${new URL(this.#spec.readyUrl).pathname} answers ${status} ${text}`;
    } catch (error) {
      return String(error instanceof Error ? (error.cause ?? error) : error);
    }
  }

  #started(): FleetProcess {
    if (this.#process === undefined) throw new Error(`${this.name} has not been started`);
    return this.#process;
  }
}

/** A shell that lowers its own limit and becomes the command. */
function limited(command: readonly string[], maxOpenFiles: number | undefined): { command: string; args: readonly string[] } {
  if (maxOpenFiles !== undefined) return { command: '/bin/sh', args: ['-c', `ulimit -n ${maxOpenFiles}; exec "$@"`, 'sh', ...command] };
  const [program = process.execPath, ...args] = command;
  return { command: program, args };
}

export interface HttpRequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
}

/** @throws when nobody answers in time */
export async function httpRequest(
  url: string,
  { method = 'GET', headers = {}, body, timeoutMs = 5000 }: HttpRequestOptions,
): Promise<HttpAnswer> {
  const response = await fetch(url, {
    method,
    // No keep-alive: a connection to a killed process must not fail the first request to the next one.
    headers: { connection: 'close', ...headers },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

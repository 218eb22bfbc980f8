import type { FleetHome } from './processes/fleet-home.js';
import type { Exit, FleetProcess } from './processes/fleet-process.js';
import { waitUntilReady } from './processes/wait-until-ready.js';
import { inRepository } from './repository.js';
import { MetricsPage } from './tools/metrics-page.js';

export type Environment = Readonly<Record<string, string>>;

export interface ReplicaOptions {
  readonly home: FleetHome;
  readonly id: string;
  readonly port: number;
  readonly internalPort: number;
  /** Redis, owners, keys, and whatever else differs from the defaults. */
  readonly env: Environment;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One gateway process as an operator has it: an environment, two ports, signals. */
export class Replica {
  readonly id: string;
  readonly port: number;
  readonly internalPort: number;
  readonly #home: FleetHome;
  readonly #env: Environment;
  #process: FleetProcess | undefined;

  constructor({ home, id, port, internalPort, env }: ReplicaOptions) {
    this.id = id;
    this.port = port;
    this.internalPort = internalPort;
    this.#home = home;
    this.#env = env;
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.port}/api/v1/ws`;
  }

  get internalUrl(): string {
    return `http://127.0.0.1:${this.internalPort}`;
  }

  get pid(): number {
    return this.#running().pid;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false;
  }

  /** How the last process ended; `undefined` while it runs. */
  get exit(): Exit | undefined {
    return this.#process?.exit;
  }

  get exited(): Promise<Exit> {
    return this.#running().exited;
  }

  /**
   * Starts it and waits until it is ready.
   * @param env over the replica's environment, for this start only
   * @throws with the last log lines when it ends or is not ready within 30 s
   */
  async start(env: Environment = {}): Promise<void> {
    this.launch(env);
    await this.untilReady();
  }

  /** Starts it without waiting. */
  launch(env: Environment = {}, args: readonly string[] = []): void {
    if (this.isRunning) throw new Error(`${this.id} is running already`);
    this.#process = this.#home.spawn({
      name: this.id,
      command: process.execPath,
      args: [inRepository('services/gateway/dist/main.js'), ...args],
      env: {
        NODE_ENV: 'production',
        REPLICA_ID: this.id,
        HOST: '127.0.0.1',
        PORT: String(this.port),
        INTERNAL_HOST: '127.0.0.1',
        INTERNAL_PORT: String(this.internalPort),
        ...this.#env,
        ...env,
      },
    });
  }

  async untilReady(timeoutMs = 30_000): Promise<void> {
    await waitUntilReady(
      this.#running(),
      async () => {
        try {
          const { status, text } = await this.get('/readyz', 1000);
          return status === 200 || `readyz ${status} ${text}`;
        } catch (error) {
          return String(error instanceof Error ? (error.cause ?? error) : error);
        }
      },
      timeoutMs,
    );
  }

  /** From the internal port. @throws when nobody answers in time */
  async get(path: string, timeoutMs = 5000, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return this.#ask(path, {}, headers, timeoutMs);
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.#ask(path, { method: 'POST', body: text }, { 'content-type': 'application/json', ...headers }, 5000);
  }

  async metrics(): Promise<MetricsPage> {
    return MetricsPage.scrape(`${this.internalUrl}/metrics`);
  }

  /** kill -9. */
  async kill(): Promise<Exit> {
    return this.#running().kill();
  }

  /** SIGSTOP: its sockets stay open and nobody is at home. */
  pause(): void {
    this.#running().pause();
  }

  resume(): void {
    this.#running().resume();
  }

  /** SIGTERM, as a deploy does: drains. Resolves when it has ended. */
  async drain(): Promise<Exit> {
    this.#running().signal('SIGTERM');
    return this.#running().exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#running().signal(signal);
  }

  async restart(env: Environment = {}): Promise<void> {
    await this.#process?.kill();
    await this.start(env);
  }

  /** Everything that it has written, over all starts. */
  log(): string {
    return this.#running().output();
  }

  async #ask(path: string, init: RequestInit, headers: Readonly<Record<string, string>>, timeoutMs: number): Promise<HttpAnswer> {
    const response = await fetch(`${this.internalUrl}${path}`, {
      ...init,
      // No keep-alive: a connection to a killed process must not fail the first request to the next one.
      headers: { connection: 'close', ...headers },
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  #running(): FleetProcess {
    if (this.#process === undefined) throw new Error(`${this.id} has not been started`);
    return this.#process;
  }
}

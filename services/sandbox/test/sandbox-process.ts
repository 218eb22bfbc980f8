import { fileURLToPath } from 'node:url';
import { eventually, type FleetHome, type FleetProcess, freePort } from '@event-gateway/fleet';
import { type Answer, request } from './start-sandbox.js';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** The built sandbox as a process of its own, for tests that kill it. */
export class SandboxProcess {
  readonly #home: FleetHome;
  readonly #port: number;
  readonly #environment: Record<string, string>;
  #process: FleetProcess | undefined;
  #authorization = '';

  private constructor(home: FleetHome, port: number, environment: Record<string, string>) {
    this.#home = home;
    this.#port = port;
    this.#environment = environment;
  }

  static async in(home: FleetHome, environment: Record<string, string>): Promise<SandboxProcess> {
    return new SandboxProcess(home, await freePort(), environment);
  }

  get process(): FleetProcess {
    if (this.#process === undefined) throw new Error('the sandbox has not been started');
    return this.#process;
  }

  /** Resolves when it answers. @param changes to the environment, for this run */
  async start(changes: Record<string, string> = {}): Promise<void> {
    this.launch(changes);
    await eventually(() => this.ask('GET', '/healthz').then(({ status }) => status === 200), { what: 'the sandbox' });
    const login = await this.ask('POST', '/login', { user_id: 'alice' });
    this.#authorization = `Bearer ${String(login.body['token'])}`;
  }

  launch(changes: Record<string, string> = {}): void {
    const env = { HOST: '127.0.0.1', PORT: String(this.#port), SEED_DEMO: '1', ...this.#environment, ...changes };
    this.#process = this.#home.spawn({ name: 'sandbox', command: process.execPath, args: [main], env });
  }

  /** As Alice, once it has been started. */
  ask(method: string, path: string, body?: unknown): Promise<Answer> {
    return request(`http://127.0.0.1:${this.#port}${path}`, method, body, { authorization: this.#authorization });
  }

  post(text: string): Promise<Answer> {
    return this.ask('POST', '/api/conversations/alice-bob/messages', { text });
  }

  async unsent(): Promise<number> {
    return Number((await this.ask('GET', '/healthz')).body['outbox_unsent']);
  }
}

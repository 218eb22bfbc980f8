import type { FleetHome } from './processes/fleet-home.js';
import type { FleetProcess } from './processes/fleet-process.js';
import { waitUntilReady } from './processes/wait-until-ready.js';
import type { Environment } from './replica.js';
import { inRepository } from './repository.js';

export interface SandboxOptions {
  readonly home: FleetHome;
  readonly port: number;
  readonly redisUrl: string;
  /** Over what it is started with. */
  readonly env?: Environment;
}

const issuer = 'event-gateway-sandbox';
const audience = 'event-gateway';

/** The small messenger, user-service and token issuer, with its demo people. */
export class Sandbox {
  readonly port: number;
  readonly #options: SandboxOptions;
  #process: FleetProcess | undefined;

  constructor(options: SandboxOptions) {
    this.port = options.port;
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The variables that point a replica at it. */
  environment(): Environment {
    return {
      JWKS_URL: `${this.url}/.well-known/jwks.json`,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
      USER_SERVICE_URL: this.url,
      MESSENGER_URL: this.url,
    };
  }

  async start(): Promise<void> {
    const { home, port, redisUrl, env } = this.#options;
    this.#process = home.spawn({
      name: 'sandbox',
      command: process.execPath,
      args: [inRepository('services/sandbox/dist/main.js')],
      env: {
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: String(port),
        DATABASE_FILE: `${home.dir}/sandbox.db`,
        REDIS_URL: redisUrl,
        ISSUER: issuer,
        AUDIENCE: audience,
        SEED_DEMO: '1',
        ...env,
      },
    });
    await waitUntilReady(this.#process, async () => {
      try {
        const response = await fetch(`${this.url}/.well-known/jwks.json`, { signal: AbortSignal.timeout(1000) });
        return response.ok || `its keys: ${response.status}`;
      } catch (error) {
        return String(error instanceof Error ? (error.cause ?? error) : error);
      }
    });
  }

  /** A token for one of its people. */
  async login(userId: string): Promise<string> {
    const answer = await this.call('POST', '/login', { user_id: userId });
    if (typeof answer === 'object' && answer !== null && 'token' in answer && typeof answer.token === 'string') return answer.token;
    throw new Error(`the login of ${userId} brought no token: ${JSON.stringify(answer)}`);
  }

  /** One request to its API; a token makes it that person's. @throws on anything but 2xx */
  async call(method: string, path: string, body?: unknown, token?: string): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }
}

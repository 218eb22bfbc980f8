import type { FleetHome } from '../processes/fleet-home.js';
import { type Environment, httpRequest, NodeService } from './node-service.js';

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
export class Sandbox extends NodeService {
  readonly url: string;

  constructor({ home, port, redisUrl, env }: SandboxOptions) {
    const url = `http://127.0.0.1:${port}`;
    super({
      home,
      name: 'sandbox',
      service: 'sandbox',
      readyUrl: `${url}/.well-known/jwks.json`,
      env: {
        PORT: String(port),
        DATABASE_FILE: `${home.dir}/sandbox.db`,
        REDIS_URL: redisUrl,
        ISSUER: issuer,
        AUDIENCE: audience,
        SEED_DEMO: '1',
        ...env,
      },
    });
    this.url = url;
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

  /** A token for one of its people. */
  async login(userId: string): Promise<string> {
    const answer = await this.call('POST', '/login', { user_id: userId });
    if (typeof answer === 'object' && answer !== null && 'token' in answer && typeof answer.token === 'string') return answer.token;
    throw new Error(`the login of ${userId} brought no token: ${JSON.stringify(answer)}`);
  }

  /** One request to its API; a token makes it that person's. @throws on anything but 2xx */
  async call(method: string, path: string, body?: unknown, token?: string): Promise<unknown> {
    const { status, text } = await httpRequest(`${this.url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }
}

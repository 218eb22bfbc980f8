import type { FleetHome } from '../processes/fleet-home.js';
import { MetricsPage } from '../tools/metrics-page.js';
import { type Environment, type HttpAnswer, httpRequest, NodeService } from './node-service.js';

export interface ReplicaOptions {
  readonly home: FleetHome;
  readonly id: string;
  readonly port: number;
  readonly internalPort: number;
  /** Redis, owners, keys, and whatever else differs from the defaults. */
  readonly env: Environment;
  readonly maxOpenFiles?: number;
}

/** One gateway process and its two ports. */
export class Replica extends NodeService {
  readonly id: string;
  readonly port: number;
  readonly internalPort: number;

  constructor({ home, id, port, internalPort, env, maxOpenFiles }: ReplicaOptions) {
    const ports = { PORT: String(port), INTERNAL_HOST: '127.0.0.1', INTERNAL_PORT: String(internalPort) };
    super({
      home,
      name: id,
      service: 'gateway',
      readyUrl: `http://127.0.0.1:${internalPort}/readyz`,
      env: { REPLICA_ID: id, ...ports, ...env },
      ...(maxOpenFiles === undefined ? {} : { maxOpenFiles }),
    });
    this.id = id;
    this.port = port;
    this.internalPort = internalPort;
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.port}/api/v1/ws`;
  }

  get internalUrl(): string {
    return `http://127.0.0.1:${this.internalPort}`;
  }

  /** From the internal port. @throws when nobody answers in time */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return httpRequest(`${this.internalUrl}${path}`, { headers });
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return httpRequest(`${this.internalUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async metrics(): Promise<MetricsPage> {
    return MetricsPage.scrape(`${this.internalUrl}/metrics`);
  }
}

import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hostEnvironment } from '../config.js';
import { type Certificate, createCertificate } from '../network/certificate.js';
import { freePort } from '../network/free-port.js';
import type { FleetHome } from '../processes/fleet-home.js';
import type { Exit, FleetProcess } from '../processes/fleet-process.js';
import { waitUntilReady } from '../processes/wait-until-ready.js';
import { inRepository } from '../repository.js';
import { renderTemplate } from './render-template.js';

export interface NginxOptions {
  readonly home: FleetHome;
  /** Ports of the replicas, in order. */
  readonly gatewayPorts: readonly number[];
  /** Default: a free one. */
  readonly port?: number;
  /** The sandbox's url; without one everything but /api/v1/ws is 404. */
  readonly sandboxUrl?: string;
  /** Over the template's values, e.g. `{ READ_TIMEOUT: '3s' }`. */
  readonly values?: Readonly<Record<string, string>>;
}

/** What the template gets on one machine; nginx/README.md says why. */
const defaultValues = {
  WORKER_PROCESSES: '2',
  WORKER_CONNECTIONS: '16384',
  READ_TIMEOUT: '45s',
  CONNECTIONS_PER_ADDRESS: '2000',
  UPGRADES_PER_SECOND_PER_ADDRESS: '100',
  UPGRADES_BURST_PER_ADDRESS: '1000',
  SERVER_NAME: 'localhost',
  PID_FILE: 'nginx.pid',
  ACCESS_LOG: 'access.log',
};

/** nginx with the repository's template, a prefix of its own and a self-signed certificate; root or not. */
export class Nginx {
  readonly port: number;
  readonly dir: string;
  readonly certificate: Certificate;
  readonly #options: NginxOptions;
  #process: FleetProcess | undefined;

  private constructor(port: number, dir: string, certificate: Certificate, options: NginxOptions) {
    this.port = port;
    this.dir = dir;
    this.certificate = certificate;
    this.#options = options;
  }

  /** Renders the configuration without starting. */
  static async prepare(options: NginxOptions): Promise<Nginx> {
    const dir = options.home.folder('nginx');
    for (const folder of ['temp', 'locations']) mkdirSync(join(dir, folder), { recursive: true });
    chmodSync(options.home.dir, 0o711); // started by root, its workers are somebody else, and bodies pass through temp/
    const nginx = new Nginx(options.port ?? (await freePort()), dir, await createCertificate(dir), options);
    nginx.#render();
    return nginx;
  }

  static async start(options: NginxOptions): Promise<Nginx> {
    const nginx = await Nginx.prepare(options);
    await nginx.start();
    return nginx;
  }

  get url(): string {
    return `https://localhost:${this.port}`;
  }

  /** The WebSocket's address. */
  get wsUrl(): string {
    return `wss://127.0.0.1:${this.port}/api/v1/ws`;
  }

  get pid(): number {
    return this.#running().pid;
  }

  /** nginx -t: what it says about the configuration. @throws with its words when it refuses it */
  async test(): Promise<string> {
    const { stderr } = await promisify(execFile)('nginx', [...this.#args(), '-t'], { env: { PATH: hostEnvironment().path } });
    return stderr;
  }

  async start(): Promise<void> {
    this.#process = this.#options.home.spawn({ name: 'nginx', command: 'nginx', args: this.#args(), env: {} });
    await waitUntilReady(this.#process, () => answers(this.port));
  }

  /** New workers with the same configuration; old ones live until their sockets close. */
  reload(): void {
    this.#running().signal('SIGHUP');
  }

  async kill(): Promise<Exit> {
    return this.#running().kill();
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  accessLog(): string {
    return readFileSync(join(this.dir, 'access.log'), 'utf8');
  }

  /** What it wrote to stderr. */
  log(): string {
    return this.#running().output();
  }

  #running(): FleetProcess {
    if (this.#process === undefined) throw new Error('nginx has not been started');
    return this.#process;
  }

  #args(): string[] {
    // -e: without it nginx opens the error log it was compiled with, before it reads what the configuration says.
    return ['-p', this.dir, '-c', 'nginx.conf', '-e', 'stderr'];
  }

  #render(): void {
    const { gatewayPorts, sandboxUrl, values } = this.#options;
    const gateways = gatewayPorts.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join('\n    ');
    const { certPath, keyPath } = this.certificate;
    const own = { LISTEN: `127.0.0.1:${this.port}`, CERTIFICATE: certPath, CERTIFICATE_KEY: keyPath, GATEWAYS: gateways };
    this.#write('nginx.conf', 'nginx.conf.template', { ...defaultValues, ...own, ...values });
    if (sandboxUrl !== undefined) this.#write('locations/sandbox.conf', 'sandbox.conf.template', { SANDBOX: sandboxUrl });
  }

  #write(path: string, template: string, values: Readonly<Record<string, string>>): void {
    writeFileSync(join(this.dir, path), renderTemplate(readFileSync(inRepository(`nginx/${template}`), 'utf8'), values));
  }
}

/** Any answer will do: the replicas may not be there yet. */
function answers(port: number): Promise<true | string> {
  return new Promise((resolve) => {
    const asked = request(
      { port, host: '127.0.0.1', path: '/metrics', rejectUnauthorized: false, agent: false, timeout: 1000 },
      (response) => {
        response.resume();
        resolve(true);
      },
    );
    asked.once('error', (error) => resolve(error.message));
    asked.once('timeout', () => asked.destroy(new Error('no answer within a second')));
    asked.end();
  });
}

import { rmSync } from 'node:fs';
import { type Certificate, createCertificate } from '../network/certificate.js';
import { freePort } from '../network/free-port.js';
import { FleetHome } from '../processes/fleet-home.js';
import type { Exit, FleetProcess } from '../processes/fleet-process.js';
import { waitUntilReady } from '../processes/wait-until-ready.js';
import { probeRedis } from './probe-redis.js';
import { type Reply, RespClient } from './resp-client.js';

export interface RedisUser {
  readonly name: string;
  readonly password: string;
  /** ACL rules, e.g. `~* &* +@all`. */
  readonly rules: string;
}

export interface RedisServerOptions {
  /** Default: a free one; kept over restarts. */
  readonly port?: number;
  /** `aof` fsyncs nothing but keeps every acknowledged write over kill -9 of the process; default `none`. */
  readonly persistence?: 'none' | 'aof';
  /** TLS only, with a certificate of its own; the url begins with rediss://. */
  readonly tls?: boolean;
  /** ACL users; the default user is switched off then, and the url carries the first of these. */
  readonly users?: readonly RedisUser[];
  /** Port of the master that it replicates. */
  readonly replicaOf?: number;
  /** More arguments for redis-server, e.g. `['--maxmemory', '50mb']`. */
  readonly args?: readonly string[];
  /** Default: one of its own, closed by `stop`. */
  readonly home?: FleetHome;
}

/** A redis-server of its own on the loopback interface. */
export class RedisServer {
  readonly port: number;
  readonly url: string;
  /** Where its files lie. */
  readonly dir: string;
  readonly certificate: Certificate | undefined;
  readonly #options: RedisServerOptions;
  readonly #home: FleetHome;
  #process: FleetProcess | undefined;
  #client: RespClient | undefined;

  constructor(port: number, home: FleetHome, certificate: Certificate | undefined, options: RedisServerOptions) {
    const [user] = options.users ?? [];
    const credentials = user === undefined ? '' : `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}@`;
    this.port = port;
    this.url = `${options.tls === true ? 'rediss' : 'redis'}://${credentials}127.0.0.1:${port}`;
    this.dir = home.folder(`redis-${port}`);
    this.certificate = certificate;
    this.#home = home;
    this.#options = options;
  }

  get pid(): number {
    return this.#running().pid;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false;
  }

  async start(): Promise<void> {
    if (this.isRunning) return;
    this.#process = this.#home.spawn({ name: `redis-${this.port}`, command: 'redis-server', args: this.#args(), env: {} });
    await waitUntilReady(this.#process, () => probeRedis({ port: this.port, tls: this.#options.tls === true }));
  }

  /** One command on a connection of the server object's own. @throws Redis's error */
  async call(...args: readonly (string | number | Uint8Array)[]): Promise<Reply> {
    if (this.#client === undefined || !this.#client.isOpen) {
      const [user] = this.#options.users ?? [];
      this.#client = new RespClient({ port: this.port, tls: this.#options.tls === true, ...(user === undefined ? {} : { user }) });
    }
    return this.#client.call(...args);
  }

  /** SIGSTOP: connections stay open, nothing is answered. */
  pause(): void {
    this.#running().pause();
  }

  resume(): void {
    this.#running().resume();
  }

  /** kill -9; `restart` brings it back on the same port. */
  async kill(): Promise<Exit> {
    return this.#running().kill();
  }

  /**
   * kill -9 and start again on the same port. With `keepData` the files stay (with `persistence: 'aof'` every acknowledged write is
   * back), without it Redis comes back empty.
   */
  async restart({ keepData }: { keepData: boolean }): Promise<void> {
    await this.#process?.kill();
    if (!keepData) rmSync(this.dir, { recursive: true, force: true });
    this.#home.folder(`redis-${this.port}`);
    await this.start();
  }

  async stop(): Promise<void> {
    this.#client?.close();
    await this.#process?.kill();
    if (this.#options.home === undefined) await this.#home.close();
  }

  log(): string {
    return this.#running().output();
  }

  #running(): FleetProcess {
    if (this.#process === undefined) throw new Error('redis-server has not been started');
    return this.#process;
  }

  #args(): string[] {
    const { persistence = 'none', tls = false, users = [], replicaOf, args = [] } = this.#options;
    const ports = tls && this.certificate !== undefined ? tlsArgs(this.port, this.certificate) : ['--port', String(this.port)];
    const accounts = users.flatMap(({ name, password, rules }) => ['--user', name, 'on', `>${password}`, ...rules.split(' ')]);
    return [
      ...ports,
      ...['--bind', '127.0.0.1', '--dir', this.dir, '--save', ''],
      // A replica that asks for everything gets it at once, not after the usual wait for others.
      ...['--repl-diskless-sync-delay', '0'],
      ...['--appendonly', persistence === 'aof' ? 'yes' : 'no', '--appendfsync', 'no'],
      ...(users.length > 0 ? [...accounts, '--user', 'default', 'off'] : []),
      ...(replicaOf === undefined ? [] : ['--replicaof', '127.0.0.1', String(replicaOf)]),
      ...args,
    ];
  }
}

function tlsArgs(port: number, { certPath, keyPath }: Certificate): string[] {
  const files = ['--tls-cert-file', certPath, '--tls-key-file', keyPath, '--tls-ca-cert-file', certPath];
  return ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', ...files];
}

/** Starts a redis-server in a temporary folder and resolves when it answers. @throws with its last log lines when it does not */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const home = options.home ?? new FleetHome();
  try {
    const certificate = options.tls === true ? await createCertificate(home.dir) : undefined;
    const server = new RedisServer(options.port ?? (await freePort()), home, certificate, options);
    await server.start();
    return server;
  } catch (error) {
    if (options.home === undefined) await home.close();
    throw error;
  }
}

import { connect } from 'node:net';
import { eventually, type FleetHome, type FleetProcess } from '@event-gateway/fleet';
import { cpuTimeUs } from '../host/cpu-time.js';
import { isStopped } from '../host/is-stopped.js';
import { residentBytes } from '../host/resident-memory.js';

export interface ServerSpec {
  readonly home: FleetHome;
  /** Of its log. */
  readonly name: string;
  readonly port: number;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** One server process under measurement. */
export class ServerProcess {
  readonly name: string;
  readonly port: number;
  readonly #process: FleetProcess;

  constructor({ home, name, port, command, args, env = {} }: ServerSpec) {
    this.name = name;
    this.port = port;
    this.#process = home.spawn({ name, command, args, env: { NODE_ENV: 'production', ...env } });
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  /** Resolves when somebody listens on the port. @throws with the last lines of its log */
  async untilListening(): Promise<void> {
    await this.until(() => accepts(this.port), 'listening');
  }

  async until(check: () => Promise<boolean>, what: string): Promise<void> {
    await eventually(async () => this.#process.isRunning && (await check()), { timeoutMs: 30_000, what: `${this.name}: ${what}` }).catch(
      (error: unknown) => {
        throw new Error(`${this.name} is not ${what}:\n${this.#process.lastLines()}`, { cause: error });
      },
    );
  }

  cpuUs(): number {
    return cpuTimeUs(this.#process.pid);
  }

  residentBytes(): number {
    return residentBytes(this.#process.pid);
  }

  /** Resolves when it is stopped: a signal takes its time to reach a busy process. */
  async pause(): Promise<void> {
    this.#process.pause();
    await eventually(() => isStopped(this.#process.pid), { intervalMs: 1 });
  }

  resume(): void {
    this.#process.resume();
  }

  async kill(): Promise<void> {
    await this.#process.kill();
  }

  /** SIGTERM, and kill -9 for who does not listen: a profiled process writes its profile at its end. */
  async stop(): Promise<void> {
    await this.#process.stop();
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

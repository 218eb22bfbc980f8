import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A redis-server of a test's own, on a free port of the loopback interface. */
export class TestRedis {
  readonly port: number;
  readonly url: string;
  readonly dir = mkdtempSync(join(tmpdir(), 'redis-test-'));
  #args: readonly string[] = [];
  #process: ChildProcess | undefined;

  private constructor(port: number) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  static async start(args: readonly string[] = ['--save', '', '--appendonly', 'no']): Promise<TestRedis> {
    const redis = await TestRedis.prepare();
    await redis.run(args);
    return redis;
  }

  /** With its port and folder, not running yet. */
  static async prepare(): Promise<TestRedis> {
    return new TestRedis(await freePort());
  }

  /** `{port}` in an argument stands for the server's own; without arguments it runs with the last ones. */
  async run(args: readonly string[] = this.#args): Promise<void> {
    this.#args = args;
    const filled = args.map((arg) => arg.replace('{port}', String(this.port)));
    const listen = filled.includes('--tls-port') || filled.includes('--sentinel') ? [] : ['--port', String(this.port)];
    this.#process = spawn('redis-server', [...filled, ...listen, '--bind', '127.0.0.1', '--dir', this.dir, '--loglevel', 'warning'], {
      stdio: 'ignore',
    });
    await listening(this.port);
  }

  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** kill -9 */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function listening(port: number): Promise<void> {
  await eventually(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1');
        socket.once('connect', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', () => resolve(false));
      }),
  );
}

/** Resolves with the first value that is neither false nor undefined. @throws when none comes in time */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 10_000): Promise<Exclude<T, false | undefined>> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
    if (performance.now() > untilMs) throw new Error(`did not become true within ${timeoutMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

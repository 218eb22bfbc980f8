import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Reaper } from './reaper.js';

export interface ProcessSpec {
  /** Shown in errors; also the log's name. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Both outputs are appended here. */
  readonly logPath: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started at all. */
  readonly error?: string;
}

/** One process of the fleet, leader of its own process group: signals reach whatever it has started, too. */
export class FleetProcess {
  readonly name: string;
  readonly exited: Promise<Exit>;
  readonly #logPath: string;
  readonly #child: ChildProcess;
  #exit: Exit | undefined;

  constructor(spec: ProcessSpec, reaper: Reaper) {
    this.name = spec.name;
    this.#logPath = spec.logPath;
    const log = openSync(spec.logPath, 'a');
    this.#child = spawn(spec.command, spec.args, { cwd: spec.cwd, env: spec.env, detached: true, stdio: ['ignore', log, log] });
    closeSync(log);
    const pid = this.#child.pid;
    if (pid !== undefined) reaper.watch(pid);
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit): void => {
        if (this.#exit !== undefined) return;
        this.#exit = exit;
        // What the leader leaves behind (workers of a killed nginx) goes with it, before its number can be given to someone else.
        if (pid !== undefined) {
          signalGroup(pid, 'SIGKILL');
          reaper.forget(pid);
        }
        resolve(exit);
      };
      this.#child.once('error', (error) => end({ code: null, signal: null, error: error.message }));
      this.#child.once('exit', (code, signal) => end({ code, signal }));
    });
  }

  /** @throws when it could not be started */
  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error(`${this.name} has not started: ${this.#exit?.error ?? 'no process'}`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** Sends a signal to the leader alone, as an operator or Kubernetes would. */
  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#child.kill(signal);
  }

  /** kill -9 of the whole group, paused or not. Resolves when it is gone. */
  async kill(): Promise<Exit> {
    if (this.isRunning && this.#child.pid !== undefined) signalGroup(this.#child.pid, 'SIGKILL');
    return this.exited;
  }

  /** SIGSTOP: alive for the kernel, dead for everybody who waits for an answer. */
  pause(): void {
    if (this.isRunning) signalGroup(this.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.isRunning) signalGroup(this.pid, 'SIGCONT');
  }

  /** SIGTERM and, after `graceMs`, kill -9. */
  async stop(graceMs = 10_000): Promise<Exit> {
    this.resume();
    this.signal('SIGTERM');
    const timer = setTimeout(() => void this.kill(), graceMs);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  output(): string {
    return readFileSync(this.#logPath, 'utf8');
  }

  lastLines(count = 15): string {
    return this.output().trimEnd().split('\n').slice(-count).join('\n');
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // ESRCH: the group is empty, which is what was wanted. EPERM: macOS says so for a group of zombies.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error;
  }
}

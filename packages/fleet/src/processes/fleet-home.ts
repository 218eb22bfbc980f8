import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostEnvironment } from '../config.js';
import { FleetProcess, type ProcessSpec } from './fleet-process.js';
import { Reaper } from './reaper.js';

export type SpawnSpec = Omit<ProcessSpec, 'logPath' | 'cwd'> & { readonly cwd?: string };

/**
 * The temporary folder that a fleet lives in, with a log for each process, and the reaper that clears up if the starter dies.
 * Everything that is started in it ends with `close`.
 */
export class FleetHome {
  readonly dir: string;
  readonly #reaper: Reaper;
  readonly #processes = new Set<FleetProcess>();
  readonly #keepsFiles: boolean;

  constructor() {
    this.#keepsFiles = hostEnvironment().keepsFiles;
    // The real path: macOS's /tmp is a link, and nginx compares paths.
    this.dir = mkdtempSync(join(realpathSync(tmpdir()), 'event-gateway-'));
    this.#reaper = new Reaper(this.#keepsFiles ? '' : this.dir);
  }

  folder(name: string): string {
    const path = join(this.dir, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  spawn(spec: SpawnSpec): FleetProcess {
    const { path, home } = hostEnvironment();
    const started = new FleetProcess(
      { cwd: this.dir, ...spec, env: { PATH: path, HOME: home, ...spec.env }, logPath: join(this.dir, `${spec.name}.log`) },
      this.#reaper,
    );
    this.#processes.add(started);
    void started.exited.then(() => this.#processes.delete(started));
    return started;
  }

  /** kill -9 to whatever still runs, then the folder goes. */
  async close(): Promise<void> {
    await Promise.all([...this.#processes].map((process) => process.kill()));
    await this.#reaper.finish();
  }
}

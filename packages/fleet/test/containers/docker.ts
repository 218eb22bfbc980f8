import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from '../../src/index.js';

const run = promisify(execFile);

export interface ContainerSpec {
  /** Also its host name on the network. */
  readonly name: string;
  readonly image: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Ports that are published on 127.0.0.1, under numbers of Docker's choice. */
  readonly ports?: readonly number[];
  readonly args?: readonly string[];
  readonly command?: readonly string[];
}

/** A network and its containers, found again by a label however the test ends. */
export class DockerNetwork {
  readonly name: string;
  readonly #label: string;

  private constructor(name: string) {
    this.name = name;
    this.#label = `event-gateway.test=${name}`;
  }

  static async create(): Promise<DockerNetwork> {
    const network = new DockerNetwork(`event-gateway-${process.pid}`);
    await docker('network', 'create', '--label', network.#label, network.name);
    return network;
  }

  /** As the deployment runs them: read-only, without capabilities, nobody's user. */
  async start({ name, image, env = {}, ports = [], args = [], command = [] }: ContainerSpec): Promise<Container> {
    const variables = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
    const published = ports.flatMap((port) => ['-p', `127.0.0.1::${port}`]);
    const hardened = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true', '--user', '10001:10001'];
    const place = ['--network', this.name, '--network-alias', name, '--label', this.#label];
    const id = await docker('run', '-d', ...place, ...hardened, ...variables, ...published, ...args, image, ...command);
    return new Container(name, id);
  }

  async remove(): Promise<void> {
    const ids = await docker('ps', '-aq', '--filter', `label=${this.#label}`);
    if (ids !== '') await docker('rm', '-f', '-v', ...ids.split('\n'));
    await docker('network', 'rm', this.name);
  }
}

export class Container {
  readonly name: string;
  readonly #id: string;

  constructor(name: string, id: string) {
    this.name = name;
    this.#id = id;
  }

  /** The number under which a published port is reached on 127.0.0.1 now: another one after each restart. */
  async port(port: number): Promise<number> {
    return Number((await docker('port', this.#id, String(port))).split('\n')[0]?.split(':').at(-1));
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    await docker('kill', '-s', signal, this.#id);
  }

  /** Freezes every process of it, as a stopped machine would. */
  async pause(): Promise<void> {
    await docker('pause', this.#id);
  }

  async resume(): Promise<void> {
    await docker('unpause', this.#id);
  }

  /** The cable: packets neither come nor go, connections stay. */
  async disconnect(network: DockerNetwork): Promise<void> {
    await docker('network', 'disconnect', network.name, this.#id);
  }

  async connect(network: DockerNetwork): Promise<void> {
    await docker('network', 'connect', '--alias', this.name, network.name, this.#id);
  }

  async exitCode(): Promise<number> {
    return Number(await docker('wait', this.#id));
  }

  async restart(): Promise<void> {
    await docker('start', this.#id);
  }

  async logs(): Promise<string> {
    const { stdout, stderr } = await run('docker', ['logs', '--tail', '50', this.#id]);
    return stdout + stderr;
  }

  /** Waits until `path` on a published port answers 200, with `text` in its body. @throws with its last log lines */
  async untilAnswers(port: number, path: string, text = ''): Promise<void> {
    try {
      await eventually(
        async () => {
          const response = await fetch(`http://127.0.0.1:${await this.port(port)}${path}`, { signal: AbortSignal.timeout(1000) });
          const body = await response.text();
          if (!response.ok || !body.includes(text)) throw new Error(`${path}: ${response.status} ${body}`);
        },
        { timeoutMs: 60_000, intervalMs: 100 },
      );
    } catch (error) {
      throw new Error(`${this.name} did not answer: ${String(error)}\n${await this.logs()}`, { cause: error });
    }
  }
}

/** Its output, trimmed. @throws with what it wrote to stderr */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('docker', args, { maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

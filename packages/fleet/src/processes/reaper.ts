import { type ChildProcess, spawn } from 'node:child_process';

// Reads `+ <process group>`, `- <process group>` and, when its input ends, kills the groups that are left and removes its folder.
// Written for the plainest /bin/sh: every machine has one, and it needs a megabyte.
const script = `
groups=" "
while read -r verb group; do
  case "$verb" in
    +) groups="$groups$group " ;;
    -) groups=$(printf '%s' "$groups" | sed "s/ $group / /") ;;
  esac
done
for group in $groups; do
  kill -s CONT -- "-$group"
  kill -s KILL -- "-$group"
done 2>/dev/null
[ -z "$1" ] || rm -rf -- "$1"
`;

/**
 * Clears up after a starter that cannot do it any more. It is a small shell of its own session that holds the reading end of a pipe:
 * Ctrl-C does not reach it, and however the starter ends, kill -9 included, the pipe ends with it.
 */
export class Reaper {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;

  /** @param folder removed at the end; empty: none */
  constructor(folder: string) {
    this.#shell = spawn('/bin/sh', ['-c', script, 'reaper', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.#ended = new Promise((resolve) => this.#shell.once('close', () => resolve()));
    this.#shell.stdin?.on('error', () => undefined); // a reaper that someone killed: nothing left to tell it
    this.#shell.unref();
    const stdin: unknown = this.#shell.stdin;
    if (hasUnref(stdin)) stdin.unref();
  }

  watch(processGroup: number): void {
    this.#shell.stdin?.write(`+ ${processGroup}\n`);
  }

  forget(processGroup: number): void {
    this.#shell.stdin?.write(`- ${processGroup}\n`);
  }

  /** Kills what is still watched, removes the folder, and resolves when that is done. */
  async finish(): Promise<void> {
    this.#shell.ref();
    this.#shell.stdin?.end();
    await this.#ended;
  }
}

function hasUnref(stream: unknown): stream is { unref(): void } {
  return typeof stream === 'object' && stream !== null && 'unref' in stream;
}

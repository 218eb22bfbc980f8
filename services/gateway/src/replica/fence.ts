import { keys, type RedisCall, RedisReplyError, type ScriptRunner } from '@event-gateway/redis';
import type { Logger } from '@event-gateway/runtime';
import type { ReplicaRegistry } from './registry.js';

/** The reading connection as the fence needs it: it runs calls, and its answers are Buffers. */
export interface FencedReader extends ScriptRunner {
  run(calls: readonly RedisCall[]): Promise<readonly unknown[]>;
}

export interface FenceOptions {
  readonly replicaId: string;
}

/**
 * Lets one process read a replica's group at a time. A reader is admitted at each (re)connect, before it reads anything: the lease is
 * confirmed on its server, and every other connection that reads for this id is cut. A predecessor that is only paused would otherwise
 * wake up later and swallow entries of the same group; so would a connection of our own that we have given up and Redis has not.
 */
export class Fence {
  readonly #registry: ReplicaRegistry;
  readonly #logger: Logger;
  readonly #readerName: string;

  constructor(registry: ReplicaRegistry, logger: Logger, { replicaId }: FenceOptions) {
    this.#registry = registry;
    this.#logger = logger;
    this.#readerName = keys.reader(replicaId);
  }

  get isHeld(): boolean {
    return this.#registry.isHeld;
  }

  get isFencedOut(): boolean {
    return this.#registry.isFencedOut;
  }

  /** How long reading is certainly allowed, in ms. */
  heldForMs(): number {
    return this.#registry.heldForMs();
  }

  whenHeld(): Promise<void> {
    return this.#registry.whenHeld();
  }

  /**
   * @param clientId the reader's own, on its server
   * @returns false when another process holds the id: nothing may be read.
   * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError; one of them also when a connection that reads for this replica cannot be cut
   */
  async admit(reader: FencedReader, clientId: number): Promise<boolean> {
    const [list] = await reader.run([['CLIENT', 'LIST', 'TYPE', 'normal']]);
    if (list instanceof RedisReplyError) throw list;
    if (!(await this.#registry.admitReader(reader, clientId))) return false;
    // Client ids begin anew when Redis restarts, so an id that was written down may be a stranger's by now; the name may not.
    const others = clientIdsNamed(this.#readerName, String(list)).filter((id) => id !== clientId);
    if (others.length === 0) return true;
    const replies = await reader.run(others.map((id) => ['CLIENT', 'KILL', 'ID', id]));
    // One that has gone by itself is gone. One that may not be cut would go on reading: then nobody is let in beside it.
    const refused = replies.filter((reply) => reply instanceof RedisReplyError).find(({ message }) => !message.includes('No such client'));
    if (refused !== undefined) throw refused;
    this.#logger.info({ cut: others.length }, 'cut other connections that read for this replica');
    return true;
  }
}

function clientIdsNamed(name: string, list: string): number[] {
  return list.split('\n').flatMap((line) => {
    const id = /^id=(\d+) /.exec(line)?.[1];
    return id !== undefined && line.includes(` name=${name} `) ? [Number(id)] : [];
  });
}

import { type CommandRedis, decodePairs, keys, LuaScript, RedisUnavailableError } from '@event-gateway/redis';
import { type Clock, type Logger, runLoop } from '@event-gateway/runtime';

const reapGroup = LuaScript.load(new URL('./scripts/reap-group.lua', import.meta.url));

const groupPrefix = keys.group('');
/** How often it looks: often enough for the retention to mean something, seldom enough to cost nothing. */
const minIntervalMs = 500;
const maxIntervalMs = 60_000;

export interface GroupJanitorOptions {
  readonly stream: string;
  /** How long a replica's lease must have been gone. */
  readonly groupRetentionMs: number;
}

/**
 * Destroys the groups of replicas that never came back: whatever is left unread and pending in them would otherwise be kept for ever.
 * Every replica does it; each group is checked and destroyed in one step, and only groups named like a replica's are looked at.
 */
export class GroupJanitor {
  readonly name = 'group janitor';
  readonly #redis: CommandRedis;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: GroupJanitorOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(redis: CommandRedis, clock: Clock, logger: Logger, options: GroupJanitorOptions) {
    this.#redis = redis;
    this.#clock = clock;
    this.#logger = logger;
    this.#options = options;
  }

  start(): void {
    const intervalMs = Math.min(maxIntervalMs, Math.max(minIntervalMs, this.#options.groupRetentionMs / 10));
    // Spread over the fleet: every replica looks, and one look at a time is enough.
    const everyMs = (): number => intervalMs * (0.5 + Math.random());
    const { signal } = this.#stopping;
    this.#loop ??= runLoop({ name: this.name, signal, clock: this.#clock, logger: this.#logger, everyMs }, () => this.#round());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #round(): Promise<void> {
    try {
      await this.sweep();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }

  /** Looks once. @returns the replica ids whose groups it destroyed. @throws RedisUnavailableError */
  async sweep(): Promise<readonly string[]> {
    const { stream, groupRetentionMs } = this.#options;
    const [groups, expired] = await this.#redis.pipeline([
      ['XINFO', 'GROUPS', stream],
      ['ZRANGE', keys.replicas, 0, -1],
    ]);
    const known = Array.isArray(expired) ? expired.map(String) : [];
    const ids = [...new Set([...replicaIdsOf(groups), ...known])].filter((id) => keys.group(id) !== keys.sharedGroup);
    const calls = ids.map((id) => ({
      script: reapGroup,
      keys: [stream, keys.replicas, keys.replica(id), keys.reader(id), keys.canary(id)],
      args: [id, keys.group(id), groupRetentionMs],
    }));
    const replies = await this.#redis.runScripts(calls);
    const reaped = ids.filter((_, index) => replies[index] === 1);
    for (const replicaId of reaped) this.#logger.info({ replicaId }, 'destroyed the group of a replica that has been gone for long');
    return reaped;
  }
}

/** A stream that does not exist has no groups, and its error reply is no array. */
function replicaIdsOf(groups: unknown): string[] {
  if (!Array.isArray(groups)) return [];
  const names = groups.map((row) => String(decodePairs(row).get('name')));
  return names.filter((name) => name.startsWith(groupPrefix)).map((name) => name.slice(groupPrefix.length));
}

import type { PresenceEntry, UserId } from '@event-gateway/protocol';
import { channels, keys, type ScriptCall } from '@event-gateway/redis';
import type { Clock } from '@event-gateway/runtime';
import { asList, asNumber, asStrings } from './decode-replies.js';
import { inChunks } from './in-chunks.js';
import { publishedEntry } from './presence-entry.js';
import { presenceScripts, type ScriptDoor, type ScriptReply } from './presence-scripts.js';
import type { RedisTime } from './redis-time.js';

/** What a holder wants for one user. Ages are ms before now, so that no clock but Redis's says when something was. */
export interface LeaseState {
  readonly userId: UserId;
  readonly activeAgeMs: number;
  /** Since the last close; undefined while the user is here. */
  readonly leftAgeMs: number | undefined;
  /** The last activity that is known to be written, in Unix ms of Redis; 0 for none. */
  readonly confirmedMs: number;
}

/**
 * `over`: the lease had ended already. `held`. `online`: held, and "online" was published. `restored`: held again after Redis had forgotten
 * it, nothing was published. `rejected`: not written, and nothing is on its way: it was never sent, or Redis has said no. `unanswered`:
 * nothing is known, and it may still be written until its deadline.
 */
export type LeaseOutcome = 'over' | 'held' | 'online' | 'restored' | 'rejected' | 'unanswered';

export interface LeaseResult {
  readonly outcome: LeaseOutcome;
  /** The activity as it is now written, Unix ms of Redis. */
  readonly confirmedMs: number;
}

export interface SweepClaim {
  readonly nowMs: number;
  /** When sweeping had run before, or is to run again at the earliest; undefined: never. */
  readonly sweptBeforeMs: number | undefined;
  readonly sweptMs: number;
  /** Users who are online in the whole fleet. */
  readonly onlineCount: number;
  /** Users whose last lease is over; none unless the claim was ours. */
  readonly users: readonly string[];
}

export interface LeaseStoreOptions {
  /** `<replica id>#<incarnation>`: who holds the leases of this process. */
  readonly holder: string;
  readonly leaseTtlMs: number;
  readonly renewMs: number;
  readonly graceMs: number;
  readonly sweepMs: number;
  /** After this long a command has failed for its caller, and must not be done any more. */
  readonly commandTimeoutMs: number;
}

/** Measured: a user costs Redis 16 µs, so a script keeps it busy for 1.6 ms: a command that comes behind one hardly notices. */
const chunkUsers = 100;
/** Users whose presence one script reads: reading is cheaper than writing. */
const readUsers = 1000;
/** Users of one sweep; more are taken by the next round at once. */
const sweepUsers = 1000;
/** Contract 2.7. */
const rememberLastSeenMs = 30 * 24 * 60 * 60 * 1000;

const outcomes: readonly LeaseOutcome[] = ['over', 'held', 'online', 'restored'];

/** The typed caller of the lease scripts. Nothing throws: what Redis did not do comes back as rejected, unanswered or undefined. */
export class LeaseStore {
  readonly #door: ScriptDoor;
  readonly #time: RedisTime;
  readonly #clock: Clock;
  readonly #options: LeaseStoreOptions;

  constructor(door: ScriptDoor, time: RedisTime, clock: Clock, options: LeaseStoreOptions) {
    this.#door = door;
    this.#time = time;
    this.#clock = clock;
    this.#options = options;
  }

  /** Redis's time now, Unix ms; undefined while it was never heard. */
  redisNowMs(): number | undefined {
    return this.#time.at(this.#clock.nowMs());
  }

  /** One round trip. Results are in the order of the states. */
  async write(states: readonly LeaseState[]): Promise<LeaseResult[]> {
    const chunks = inChunks(states, chunkUsers);
    const redisMs = this.redisNowMs();
    const notAfterMs = redisMs === undefined ? 0 : redisMs + this.#options.commandTimeoutMs;
    const { replies, areOnTheirWay } = await this.#door.attempt(chunks.map((chunk) => this.#writeCall(chunk, notAfterMs)));
    const failed = areOnTheirWay ? 'unanswered' : 'rejected';
    return chunks.flatMap((chunk, i) => this.#writeResults(chunk, replies[i], failed));
  }

  /** Asks for the right to sweep; `claimMs` after somebody else swept. */
  async claimSweep(claimMs: number): Promise<SweepClaim | undefined> {
    const { renewMs, graceMs, sweepMs } = this.#options;
    const [reply] = await this.#door.run([
      {
        script: presenceScripts.claimSweep,
        keys: [keys.presenceOnline, keys.presenceLastSeen, keys.presenceSweptAt],
        // Five sweeps: what a busy machine may be late by is no silence. One renewal + grace: whoever is here has shown it by then.
        args: [Math.round(claimMs), 5 * sweepMs, renewMs + graceMs, sweepUsers, rememberLastSeenMs],
      },
    ]);
    if (reply === undefined) return undefined;
    const [nowMs, before, after, onlineCount, ...users] = reply.values;
    this.#learn(reply);
    return {
      nowMs: asNumber(nowMs),
      sweptBeforeMs: before === -1 ? undefined : asNumber(before),
      sweptMs: asNumber(after),
      onlineCount: asNumber(onlineCount),
      users: asStrings(users),
    };
  }

  /** Publishes offline for those of a claim who still have no lease. Returns how many; undefined when Redis failed. */
  async expire(claim: SweepClaim): Promise<number | undefined> {
    const { sweepMs } = this.#options;
    const notAfterMs = claim.nowMs + 5 * sweepMs;
    const replies = await this.#door.run(
      inChunks(claim.users, chunkUsers).map((users) => ({
        script: presenceScripts.expireLeases,
        keys: [keys.presenceOnline, keys.presenceLastSeen, ...users.map(keys.presence)],
        args: [2 * sweepMs, notAfterMs, channels.presence, ...users],
      })),
    );
    let gone: number | undefined;
    for (const reply of replies) if (reply !== undefined) gone = (gone ?? 0) + asNumber(reply.values[1]);
    return gone;
  }

  /** Published state of the users, in one round trip; undefined when Redis failed. */
  async read(users: readonly UserId[]): Promise<PresenceEntry[] | undefined> {
    const chunks = inChunks(users, readUsers);
    const keysOfRead = [keys.presenceOnline, keys.presenceLastSeen];
    const replies = await this.#door.run(chunks.map((chunk) => ({ script: presenceScripts.readPresence, keys: keysOfRead, args: chunk })));
    const entries: PresenceEntry[] = [];
    for (const [i, chunk] of chunks.entries()) {
      const reply = replies[i];
      if (reply === undefined) return undefined;
      this.#learn(reply);
      const [nowMs, leases, seen] = [asNumber(reply.values[0]), asList(reply.values[1]), asList(reply.values[2])];
      for (const [k, userId] of chunk.entries()) entries.push(publishedEntry(userId, nowMs, leases[k], seen[k]));
    }
    return entries;
  }

  #writeCall(chunk: readonly LeaseState[], notAfterMs: number): ScriptCall {
    const { holder, leaseTtlMs, graceMs, sweepMs } = this.#options;
    const args: (string | number)[] = [holder, leaseTtlMs, graceMs, 2 * sweepMs, notAfterMs, channels.presence];
    for (const { userId, activeAgeMs, leftAgeMs, confirmedMs } of chunk) {
      args.push(userId, wholeMs(activeAgeMs), leftAgeMs === undefined ? -1 : wholeMs(leftAgeMs), confirmedMs);
    }
    const userKeys = chunk.map(({ userId }) => keys.presence(userId));
    return { script: presenceScripts.writeLeases, keys: [keys.presenceOnline, keys.presenceLastSeen, ...userKeys], args };
  }

  #writeResults(chunk: readonly LeaseState[], reply: ScriptReply | undefined, failed: 'rejected' | 'unanswered'): LeaseResult[] {
    if (reply !== undefined) this.#learn(reply);
    return chunk.map(({ activeAgeMs, confirmedMs }, i) => {
      const outcome = reply === undefined ? undefined : outcomes[asNumber(reply.values[i + 1])];
      if (reply === undefined || outcome === undefined) return { outcome: failed, confirmedMs };
      return { outcome, confirmedMs: asNumber(reply.values[0]) - wholeMs(activeAgeMs) };
    });
  }

  #learn({ values, sentMs, receivedMs }: ScriptReply): void {
    this.#time.learn(asNumber(values[0]), sentMs, receivedMs);
  }
}

function wholeMs(ms: number): number {
  return Math.max(0, Math.round(ms));
}

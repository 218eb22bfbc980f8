import type { UserId } from '@event-gateway/protocol';
import { keys } from '@event-gateway/redis';
import { asList, onlyUserIds } from './decode-replies.js';
import { inChunks } from './in-chunks.js';
import { presenceScripts, type ScriptDoor } from './presence-scripts.js';

/** What is to change in the set of one user; both empty only keeps it alive. */
export interface PeerWrite {
  readonly userId: UserId;
  readonly add: readonly UserId[];
  readonly remove: readonly UserId[];
}

/** Contract 2.7: presence survives the death of a replica for a day without anybody's sync. */
const peersTtlMs = 24 * 60 * 60 * 1000;
/** And at most this often is that day begun anew. */
export const peersRefreshMs = 60 * 60 * 1000;
const chunkUsers = 100;

/** The typed caller of the scripts over `presence.peers:<user>`. Nothing throws. */
export class PeerStore {
  readonly #door: ScriptDoor;

  constructor(door: ScriptDoor) {
    this.#door = door;
  }

  /** Whom each user may see, in order; undefined for those whom Redis did not answer for. One round trip. */
  async read(users: readonly UserId[], maxPeers: number): Promise<(UserId[] | undefined)[]> {
    const chunks = inChunks(users, chunkUsers);
    const args = [maxPeers, peersTtlMs, peersRefreshMs];
    const calls = chunks.map((chunk) => ({ script: presenceScripts.readPeers, keys: chunk.map(keys.presencePeers), args }));
    const replies = await this.#door.run(calls);
    return chunks.flatMap((chunk, i) => {
      const sets = replies[i]?.values;
      return chunk.map((_, k) => (sets === undefined ? undefined : onlyUserIds(asList(sets[k]))));
    });
  }

  /** Returns, in order, whether each was written. One round trip. */
  async write(writes: readonly PeerWrite[]): Promise<boolean[]> {
    const chunks = inChunks(writes, chunkUsers);
    const replies = await this.#door.run(
      chunks.map((chunk) => ({
        script: presenceScripts.writePeers,
        keys: chunk.map(({ userId }) => keys.presencePeers(userId)),
        args: [peersTtlMs, ...chunk.flatMap(({ add, remove }) => [add.length, remove.length, ...add, ...remove])],
      })),
    );
    return chunks.flatMap((chunk, i) => chunk.map(() => replies[i] !== undefined));
  }
}

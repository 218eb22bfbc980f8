import { randomUUID } from 'node:crypto';
import { compareStreamIds, STREAM_START, type StreamId } from '@event-gateway/protocol';
import { decodeScriptNumber, decodeScriptReply, keys, LuaScript, type ScriptRunner, UnexpectedReplyError } from '@event-gateway/redis';
import type { Position } from './continuity.js';
import { decodeStreamId } from './decode-stream-id.js';

const settleEpoch = LuaScript.load(new URL('./scripts/settle-epoch.lua', import.meta.url));
const raiseFloor = LuaScript.load(new URL('./scripts/raise-floor.lua', import.meta.url));

export interface EpochOptions {
  readonly stream: string;
  readonly group: string;
}

/** What is known of the fleet's epoch, as a look at it showed. */
export interface EpochSighting {
  readonly id: string;
  readonly barrier: string;
  readonly floor: string;
}

/**
 * Whether the Redis that we read from still is the one that we read from before.
 *
 * A Redis that comes back, or a replica that is promoted, may have forgotten entries that were read; neither an id nor a count shows
 * it. An epoch is a stretch of time without such an event. Its barrier lies above every id that a client can hold from before.
 */
export class Epoch {
  readonly #options: EpochOptions;
  #id = '';
  #barrier: Position | undefined;
  #floor: StreamId = STREAM_START;

  constructor(options: EpochOptions) {
    this.#options = options;
  }

  /**
   * Where reading goes on after a loss: nothing that was read before it counts any more. Undefined when nothing has ever been lost of
   * the stream that is there now.
   */
  get lossBarrier(): Position | undefined {
    return this.#barrier?.count === undefined ? undefined : this.#barrier;
  }

  /**
   * Whether a cursor is from before the barrier, or from the stream that was there before this one: whoever holds the very last id that
   * was handled of that one may still have missed what followed it. The cursor of an empty stream is from before everything: as long as
   * nothing has been lost, whoever holds it has simply not been given another one yet.
   */
  isFromBefore(cursor: StreamId): boolean {
    if (this.#floor !== STREAM_START && compareStreamIds(cursor, this.#floor) <= 0) return true;
    if (cursor === STREAM_START && this.lossBarrier === undefined) return false;
    return this.#barrier !== undefined && compareStreamIds(cursor, this.#barrier.id) < 0;
  }

  /**
   * Compares the server with the epoch, at each (re)connect of the reader and when the group has vanished.
   * @param handledId the last id that this process handled
   * @returns `lost`: writes may have been lost since the last time, or (the first time) before this process; the barrier has risen
   * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
   */
  async settle(server: ScriptRunner, handledId: StreamId | undefined): Promise<'kept' | 'lost'> {
    const { stream, group } = this.#options;
    const args = [this.#id, this.#barrier?.id ?? '', handledId ?? '', randomUUID(), group];
    const reply = await server.runScript(settleEpoch, [keys.epoch(stream), stream], args);
    const { outcome, id, ...rest } = decodeScriptReply(settleEpoch, reply, ['outcome', 'id', 'barrier', 'entries', 'floor']);
    const isLost = outcome === 'lost';
    if (!isLost && outcome !== 'same' && outcome !== 'new') throw new UnexpectedReplyError(settleEpoch.name);
    const barrier = decodeStreamId(settleEpoch, rest.barrier);
    const floor = decodeStreamId(settleEpoch, rest.floor);
    const entries = decodeScriptNumber(settleEpoch, rest.entries);
    this.#id = id;
    this.#barrier = { id: barrier, count: entries < 0 ? undefined : entries };
    this.#floor = floor;
    return isLost ? 'lost' : 'kept';
  }

  /**
   * The stream began anew below what was handled: cursors from before are not resumed.
   * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
   */
  async forgetUpTo(server: ScriptRunner, handledId: StreamId): Promise<void> {
    const reply = await server.runScript(raiseFloor, [keys.epoch(this.#options.stream)], [handledId]);
    this.#floor = decodeStreamId(raiseFloor, String(reply));
    if (this.#barrier !== undefined) this.#barrier = { id: this.#barrier.id, count: undefined };
  }

  /**
   * Takes note of what somebody else did to the epoch.
   * @returns whether it has to be settled again: it is another one, or gone, or its barrier has risen, by someone who had read further than
   * whoever began it, perhaps on a Redis that went on taking writes after we had left it for this one
   */
  sighted({ id, barrier, floor }: EpochSighting): boolean {
    if (this.#barrier === undefined) return false;
    if (id !== this.#id || barrier !== this.#barrier.id) return true;
    if (floor !== '' && compareStreamIds(floor, this.#floor) > 0) this.#floor = floor as StreamId;
    return false;
  }
}

import type { StreamId } from '@event-gateway/protocol';
import { decodeScriptNumber, decodeScriptReply, LuaScript, type ScriptRunner } from '@event-gateway/redis';
import type { Position } from './continuity.js';
import { decodeStreamId } from './decode-stream-id.js';

const countEntriesScript = LuaScript.load(new URL('./scripts/count-entries.lua', import.meta.url));
const ackUpToScript = LuaScript.load(new URL('./scripts/ack-up-to.lua', import.meta.url));

/** About 1 ms of Redis a page. */
const pageEntries = 1000;

/** Acknowledges everything pending up to an id. @returns how many. @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError */
export async function ackPendingUpTo(server: ScriptRunner, stream: string, group: string, upTo: StreamId): Promise<number> {
  let acked = 0;
  for (;;) {
    const page = decodeScriptNumber(ackUpToScript, await server.runScript(ackUpToScript, [stream], [group, upTo, pageEntries]));
    acked += page;
    if (page < pageEntries) return acked;
  }
}

/**
 * How many entries the stream holds after one id, up to and including another.
 * @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError
 */
export async function countEntries(server: ScriptRunner, stream: string, after: Position['id'], upTo: StreamId): Promise<number> {
  let counted = 0;
  let from = after;
  for (;;) {
    const reply = await server.runScript(countEntriesScript, [stream], [from, upTo, pageEntries]);
    const { found, lastId } = decodeScriptReply(countEntriesScript, reply, ['found', 'lastId']);
    const page = decodeScriptNumber(countEntriesScript, found);
    counted += page;
    if (page < pageEntries) return counted;
    from = decodeStreamId(countEntriesScript, lastId);
  }
}

import type { StreamId } from '@event-gateway/protocol';
import { decodeArray, LuaScript, type ScriptRunner } from '@event-gateway/redis';
import type { Evidence } from './continuity.js';
import type { EpochSighting } from './epoch.js';

const inspectStreamScript = LuaScript.load(new URL('./scripts/inspect-stream.lua', import.meta.url));

/** Proof for a batch; sent with it, see GroupReader. */
export const continuityEvidence = LuaScript.load(new URL('./scripts/continuity-evidence.lua', import.meta.url));

/** The stream and this replica's group, all of the same moment. */
export interface StreamState {
  readonly exists: boolean;
  readonly entriesAdded: number;
  readonly length: number;
  /** '0-0' when the stream is empty. */
  readonly firstId: StreamId;
  readonly lastId: StreamId;
  readonly nowMs: number;
  readonly group: GroupState | undefined;
}

export interface GroupState {
  readonly lastDeliveredId: StreamId;
  /** Undefined: Redis does not know. */
  readonly entriesRead: number | undefined;
  readonly pending: number;
  readonly firstPendingId: StreamId | undefined;
}

/** @throws RedisUnavailableError, RedisReplyError */
export async function inspectStream(server: ScriptRunner, stream: string, group: string): Promise<StreamState> {
  const reply = await server.runScript(inspectStreamScript, [stream], [group]);
  const [entriesAdded, length, firstId, lastId, exists, deliveredId, entriesRead, pending, firstPendingId, nowMs] =
    decodeArray(reply).map(toText);
  return {
    exists: exists === '1',
    entriesAdded: Number(entriesAdded),
    length: Number(length),
    firstId: firstId as StreamId,
    lastId: lastId as StreamId,
    nowMs: Number(nowMs),
    group:
      deliveredId === ''
        ? undefined
        : {
            lastDeliveredId: deliveredId as StreamId,
            entriesRead: Number(entriesRead) < 0 ? undefined : Number(entriesRead),
            pending: Number(pending),
            firstPendingId: firstPendingId === '' ? undefined : (firstPendingId as StreamId),
          },
  };
}

/** What the script behind a read replied. */
export function decodeEvidence(reply: unknown): { readonly evidence: Evidence; readonly epoch: EpochSighting } {
  const [id, barrier, floor, entriesAdded, length, firstId, lastId] = decodeArray(reply);
  const epoch = { id: String(id), barrier: String(barrier), floor: String(floor) };
  if (entriesAdded === undefined) return { evidence: 'present', epoch };
  const evidence = {
    entriesAdded: Number(entriesAdded),
    length: Number(length),
    firstId: String(firstId) as StreamId,
    lastId: String(lastId) as StreamId,
  };
  return { evidence, epoch };
}

function toText(value: unknown): string {
  return String(value);
}

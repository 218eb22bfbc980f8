import type { StreamId } from '@event-gateway/protocol';
import { decodeScriptNumber, decodeScriptReply, LuaScript, type ScriptRunner } from '@event-gateway/redis';
import type { Evidence } from './continuity.js';
import { decodeStreamId } from './decode-stream-id.js';
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

const streamNames = ['entriesAdded', 'length', 'firstId', 'lastId'] as const;
const groupNames = ['deliveredId', 'entriesRead', 'pending', 'firstPendingId'] as const;
const epochNames = ['id', 'barrier', 'floor'] as const;

/** @throws RedisUnavailableError, RedisReplyError, UnexpectedReplyError */
export async function inspectStream(server: ScriptRunner, stream: string, group: string): Promise<StreamState> {
  const reply = await server.runScript(inspectStreamScript, [stream], [group]);
  const fields = decodeScriptReply(inspectStreamScript, reply, [...streamNames, 'exists', ...groupNames, 'nowMs']);
  return {
    exists: fields.exists === '1',
    ...decodeStream(inspectStreamScript, fields),
    nowMs: decodeScriptNumber(inspectStreamScript, fields.nowMs),
    group: fields.deliveredId === '' ? undefined : decodeGroup(fields),
  };
}

/** What the script behind a read replied. @throws UnexpectedReplyError */
export function decodeEvidence(reply: unknown): { readonly evidence: Evidence; readonly epoch: EpochSighting } {
  if (Array.isArray(reply) && reply.length === epochNames.length)
    return { evidence: 'present', epoch: decodeScriptReply(continuityEvidence, reply, epochNames) };
  const { id, barrier, floor, ...fields } = decodeScriptReply(continuityEvidence, reply, [...epochNames, ...streamNames]);
  return { evidence: decodeStream(continuityEvidence, fields), epoch: { id, barrier, floor } };
}

function decodeStream(
  script: LuaScript,
  { entriesAdded, length, firstId, lastId }: Readonly<Record<(typeof streamNames)[number], string>>,
): Pick<StreamState, (typeof streamNames)[number]> {
  return {
    entriesAdded: decodeScriptNumber(script, entriesAdded),
    length: decodeScriptNumber(script, length),
    firstId: decodeStreamId(script, firstId),
    lastId: decodeStreamId(script, lastId),
  };
}

function decodeGroup(fields: Readonly<Record<(typeof groupNames)[number], string>>): GroupState {
  const entriesRead = decodeScriptNumber(inspectStreamScript, fields.entriesRead);
  return {
    lastDeliveredId: decodeStreamId(inspectStreamScript, fields.deliveredId),
    entriesRead: entriesRead < 0 ? undefined : entriesRead,
    pending: decodeScriptNumber(inspectStreamScript, fields.pending),
    firstPendingId: fields.firstPendingId === '' ? undefined : decodeStreamId(inspectStreamScript, fields.firstPendingId),
  };
}

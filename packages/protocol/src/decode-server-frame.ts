import { asConversationType } from './cards.js';
import { FRAME_ERROR_CODES, type FrameErrorCode } from './errors.js';
import { isMessageType, isReservedType } from './event-types.js';
import { asConversationId, asUserId, type ConversationId } from './ids.js';
import { asObject, parseJson } from './json-text.js';
import type {
  ConversationHeader,
  DurableFrame,
  ErrorFrame,
  FrameCursor,
  HelloFrame,
  PresenceEntry,
  PresenceFrame,
  PresenceSnapshotFrame,
  ServerFrame,
  SyncCompleteFrame,
  SyncRequiredFrame,
  TypingFrame,
} from './server-frame.js';
import { isStreamId } from './stream-id.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a frame as a client of this release does: unknown fields are ignored; undefined for anything that is not a frame of the contract,
 * a reserved type of a later release included.
 */
export function decodeServerFrame(text: string): ServerFrame | DurableFrame | undefined {
  const fields = asObject(parseJson(text));
  const type = fields?.['type'];
  if (fields === undefined || typeof type !== 'string' || type === '') return undefined;
  switch (type) {
    case 'hello':
      return decodeHello(fields);
    case 'typing':
      return decodeTyping(fields);
    case 'presence':
      return decodePresence(fields);
    case 'presence.snapshot':
      return decodePresenceSnapshot(fields);
    case 'sync.complete':
      return decodeSyncComplete(fields);
    case 'sync.required':
      return decodeSyncRequired(fields);
    case 'token.expiring':
    case 'auth.ok': {
      const expiresInMs = asCount(fields['expires_in_ms']);
      return expiresInMs === undefined ? undefined : { type, expires_in_ms: expiresInMs };
    }
    case 'reconnect': {
      const afterMs = asCount(fields['after_ms']);
      const cursor = asOptionalCursor(fields['cursor']);
      return afterMs === undefined || cursor === undefined ? undefined : { type, after_ms: afterMs, ...cursor };
    }
    case 'pong': {
      const cursor = asOptionalCursor(fields['cursor']);
      return cursor && { type, ...cursor };
    }
    case 'error':
      return decodeError(fields);
    default:
      return isReservedType(type) ? undefined : decodeDurable(type, fields);
  }
}

function decodeHello(fields: Fields): HelloFrame | undefined {
  const connectionId = fields['connection_id'];
  const replicaId = fields['replica_id'];
  const userId = asUserId(fields['user_id']);
  const heartbeatMs = asCount(fields['heartbeat_ms']);
  const { resumed } = fields;
  const cursor = asCursor(fields['cursor']);
  if (typeof connectionId !== 'string' || typeof replicaId !== 'string' || typeof resumed !== 'boolean') return undefined;
  if (userId === undefined || heartbeatMs === undefined || cursor === undefined) return undefined;
  return {
    type: 'hello',
    connection_id: connectionId,
    replica_id: replicaId,
    user_id: userId,
    heartbeat_ms: heartbeatMs,
    resumed,
    cursor,
  };
}

function decodeTyping(fields: Fields): TypingFrame | undefined {
  const conversationId = asConversationId(fields['conversation_id']);
  const userId = asUserId(fields['user_id']);
  const userName = fields['user_name'];
  if (conversationId === undefined || userId === undefined || typeof userName !== 'string') return undefined;
  return { type: 'typing', conversation_id: conversationId, user_id: userId, user_name: userName, ...staleOf(fields) };
}

function decodePresence(fields: Fields): PresenceFrame | undefined {
  const entry = decodePresenceEntry(fields);
  return entry === undefined || entry.status === 'unknown' ? undefined : { type: 'presence', ...entry, status: entry.status };
}

function decodePresenceSnapshot(fields: Fields): PresenceSnapshotFrame | undefined {
  const presence = decodePresenceEntries(fields['presence']);
  return presence && { type: 'presence.snapshot', presence };
}

function decodePresenceEntries(value: unknown): PresenceEntry[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const entries = value.map(decodePresenceEntry).filter((entry) => entry !== undefined);
  return entries.length === value.length ? entries : undefined;
}

function decodePresenceEntry(value: unknown): PresenceEntry | undefined {
  const fields = asObject(value);
  const userId = asUserId(fields?.['user_id']);
  const status = fields?.['status'];
  const atMs = asCount(fields?.['at_ms']);
  const lastSeen = fields?.['last_seen'];
  if (userId === undefined || atMs === undefined) return undefined;
  if (status !== 'online' && status !== 'offline' && status !== 'unknown') return undefined;
  if (lastSeen !== undefined && typeof lastSeen !== 'string') return undefined;
  return { user_id: userId, status, ...(lastSeen === undefined ? {} : { last_seen: lastSeen }), at_ms: atMs };
}

function decodeSyncComplete(fields: Fields): SyncCompleteFrame | undefined {
  const conversations = decodeSeqs(fields['conversations']);
  const presence = decodePresenceEntries(fields['presence']);
  const cursor = asCursor(fields['cursor']);
  const { ref, next, has_more: hasMore } = fields;
  if (conversations === undefined || presence === undefined || cursor === undefined || typeof hasMore !== 'boolean') return undefined;
  if ((ref !== undefined && typeof ref !== 'string') || (next !== undefined && typeof next !== 'string')) return undefined;
  return {
    type: 'sync.complete',
    ...(ref === undefined ? {} : { ref }),
    conversations,
    presence,
    has_more: hasMore,
    ...(next === undefined ? {} : { next }),
    cursor,
  };
}

function decodeSeqs(value: unknown): Map<ConversationId, number> | undefined {
  const members = asObject(value);
  if (members === undefined) return undefined;
  const seqs = new Map<ConversationId, number>();
  for (const [key, seq] of Object.entries(members)) {
    const conversationId = asConversationId(key);
    const count = asCount(seq);
    if (conversationId === undefined || count === undefined) return undefined;
    seqs.set(conversationId, count);
  }
  return seqs;
}

function decodeSyncRequired(fields: Fields): SyncRequiredFrame | undefined {
  const { reason } = fields;
  const cursor = asCursor(fields['cursor']);
  const afterMs = asCount(fields['after_ms']);
  if (cursor === undefined || afterMs === undefined) return undefined;
  if (reason !== 'trimmed' && reason !== 'gap' && reason !== 'slow_consumer' && reason !== 'cursor_unknown') return undefined;
  return { type: 'sync.required', reason, cursor, after_ms: afterMs };
}

function decodeError(fields: Fields): ErrorFrame | undefined {
  const error = asObject(fields['error']);
  const code = FRAME_ERROR_CODES.find((known): known is FrameErrorCode => known === error?.['code']);
  const message = error?.['message'];
  const retryAfterMs = asCount(error?.['retry_after_ms']);
  const ref = error?.['ref'];
  if (code === undefined || typeof message !== 'string') return undefined;
  return {
    type: 'error',
    error: {
      code,
      message,
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
      ...(typeof ref === 'string' ? { ref } : {}),
    },
  };
}

function decodeDurable(type: string, fields: Fields): DurableFrame | undefined {
  const cursor = fields['cursor'];
  const conversationId = fields['conversation_id'];
  const message = asObject(fields['message']);
  const conversation = fields['conversation'] === undefined ? undefined : decodeConversationHeader(fields['conversation']);
  if (cursor !== undefined && !isStreamId(cursor)) return undefined;
  if (conversationId !== undefined && typeof conversationId !== 'string') return undefined;
  if (conversation === undefined && fields['conversation'] !== undefined) return undefined;
  if (isMessageType(type) ? message === undefined : fields['data'] === undefined) return undefined;
  return {
    type,
    ...(cursor === undefined ? {} : { cursor }),
    ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
    ...(fields['event_id'] === undefined ? {} : { event_id: fields['event_id'] }),
    ...(fields['occurred_at'] === undefined ? {} : { occurred_at: fields['occurred_at'] }),
    ...(isMessageType(type) && message !== undefined ? { message } : { data: fields['data'] }),
    ...(conversation === undefined ? {} : { conversation }),
    ...staleOf(fields),
  };
}

function decodeConversationHeader(value: unknown): ConversationHeader | undefined {
  const fields = asObject(value);
  const type = asConversationType(fields?.['type']);
  const title = fields?.['title'];
  const avatarUrl = fields?.['avatar_url'];
  if (fields === undefined || (type === undefined && fields['type'] !== undefined)) return undefined;
  return {
    ...(type === undefined ? {} : { type }),
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof avatarUrl === 'string' ? { avatar_url: avatarUrl } : {}),
  };
}

function staleOf(fields: Fields): { stale?: true } {
  return fields['stale'] === true ? { stale: true } : {};
}

/** Undefined when it is neither an id nor null. */
function asCursor(value: unknown): FrameCursor | undefined {
  return value === null || isStreamId(value) ? value : undefined;
}

function asOptionalCursor(value: unknown): { cursor?: FrameCursor } | undefined {
  if (value === undefined) return {};
  const cursor = asCursor(value);
  return cursor === undefined ? undefined : { cursor };
}

/** A non-negative whole number: a seq, or a time in ms. */
function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

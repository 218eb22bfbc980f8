import type { FrameErrorCode } from './errors.js';
import type { ConversationId, UserId } from './ids.js';
import type { StreamId } from './stream-id.js';

/** What a frame says about the stream: null in pub/sub mode, where there is no position. */
export type FrameCursor = StreamId | null;

export type PresenceStatus = 'online' | 'offline' | 'unknown';

/** One user's presence as it goes to clients. `at_ms`: Unix ms of Redis; the newest wins. `last_seen`: ISO 8601 UTC. */
export interface PresenceEntry {
  readonly user_id: UserId;
  readonly status: PresenceStatus;
  readonly last_seen?: string;
  readonly at_ms: number;
}

/** The first frame of every connection. Not resumed: `cursor` assigns the client's own. */
export interface HelloFrame {
  readonly type: 'hello';
  readonly connection_id: string;
  readonly replica_id: string;
  readonly user_id: UserId;
  readonly heartbeat_ms: number;
  readonly resumed: boolean;
  readonly cursor: FrameCursor;
}

/** Ephemeral. `stale`: the name is missing by a fault, not because there is none. */
export interface TypingFrame {
  readonly type: 'typing';
  readonly conversation_id: ConversationId;
  readonly user_id: UserId;
  readonly user_name: string;
  readonly stale?: true;
}

/** Ephemeral; never to the user's own devices. */
export interface PresenceFrame {
  readonly type: 'presence';
  readonly user_id: UserId;
  readonly status: 'online' | 'offline';
  readonly last_seen?: string;
  readonly at_ms: number;
}

export interface PresenceSnapshotFrame {
  readonly type: 'presence.snapshot';
  readonly presence: readonly PresenceEntry[];
}

/** Ends a sync. `conversations`: the seq that this sync delivered, by conversation. With `has_more` the client goes on with `next`. */
export interface SyncCompleteFrame {
  readonly type: 'sync.complete';
  readonly ref?: string;
  readonly conversations: ReadonlyMap<ConversationId, number>;
  readonly presence: readonly PresenceEntry[];
  readonly has_more: boolean;
  readonly next?: string;
  /** Taken before the messenger was asked. */
  readonly cursor: FrameCursor;
}

export type SyncRequiredReason = 'trimmed' | 'gap' | 'slow_consumer' | 'cursor_unknown';

/** The client may have missed something. `cursor` assigns the client's own; it syncs after `after_ms`. */
export interface SyncRequiredFrame {
  readonly type: 'sync.required';
  readonly reason: SyncRequiredReason;
  readonly cursor: FrameCursor;
  readonly after_ms: number;
}

export interface TokenExpiringFrame {
  readonly type: 'token.expiring';
  readonly expires_in_ms: number;
}

export interface AuthOkFrame {
  readonly type: 'auth.ok';
  readonly expires_in_ms: number;
}

/** The replica drains: the close (1012) follows at once, the client comes back after `after_ms`. */
export interface ReconnectFrame {
  readonly type: 'reconnect';
  readonly after_ms: number;
  /** The last id handled and flushed; left out while the socket catches up. */
  readonly cursor?: FrameCursor;
}

export interface PongFrame {
  readonly type: 'pong';
  /** As in `reconnect`. */
  readonly cursor?: FrameCursor;
}

export interface ErrorFrame {
  readonly type: 'error';
  readonly error: {
    readonly code: FrameErrorCode;
    readonly message: string;
    readonly retry_after_ms?: number;
    readonly ref?: string;
  };
}

/** Every frame that the gateway makes by itself, in snake_case as on the wire. */
export type ServerFrame =
  | HelloFrame
  | TypingFrame
  | PresenceFrame
  | PresenceSnapshotFrame
  | SyncCompleteFrame
  | SyncRequiredFrame
  | TokenExpiringFrame
  | AuthOkFrame
  | ReconnectFrame
  | PongFrame
  | ErrorFrame;

export type ServerFrameType = ServerFrame['type'];

/** The card fields that accompany a defined event of a conversation. */
export interface ConversationHeader {
  /** Absent when the card is missing by a fault: the title then is "…". */
  readonly type?: 'direct' | 'group';
  readonly title?: string;
  readonly avatar_url?: string;
}

/**
 * An event on a socket, as a client reads it. The gateway builds these from bytes (a number above 2^53 in `message` or `data` is intact on
 * the wire, not in this parsed form). Live frames carry `cursor`, synced ones and those of pub/sub mode do not.
 */
export interface DurableFrame {
  readonly type: string;
  readonly cursor?: StreamId;
  readonly conversation_id?: string;
  readonly event_id?: unknown;
  readonly occurred_at?: unknown;
  /** The payload of `message.*`, with `sender_name` and `avatar_url` of the sender's card. */
  readonly message?: Readonly<Record<string, unknown>>;
  /** The payload of every other type. */
  readonly data?: unknown;
  readonly conversation?: ConversationHeader;
  /** A card is missing by a fault. */
  readonly stale?: true;
}

/** The JSON text of a frame; undefined fields are left out. */
export function encodeFrame(frame: ServerFrame): string {
  // fromEntries defines own members, `__proto__` among them; an object literal with computed keys would be as safe, assignment would not.
  if (frame.type === 'sync.complete') return JSON.stringify({ ...frame, conversations: Object.fromEntries(frame.conversations) });
  return JSON.stringify(frame);
}

/** The wire's frames as the client reads them: snake_case, and tolerant of anything it does not know. */

export type PresenceStatus = 'online' | 'offline' | 'unknown';

export interface PresenceEntry {
  readonly user_id: string;
  readonly status: PresenceStatus;
  /** ISO 8601; only of somebody who is offline. */
  readonly last_seen?: string;
  /** Unix ms of the change, on the gateway's clock: the newest one counts. */
  readonly at_ms: number;
}

export interface HelloFrame {
  readonly type: 'hello';
  readonly connection_id: string;
  readonly replica_id: string;
  readonly user_id: string;
  readonly heartbeat_ms: number;
  readonly resumed: boolean;
  readonly cursor: string | null;
}

export interface TypingFrame {
  readonly type: 'typing';
  readonly conversation_id: string;
  readonly user_id: string;
  readonly user_name?: string;
  readonly stale?: boolean;
}

export interface SyncCompleteFrame {
  readonly type: 'sync.complete';
  readonly ref?: string;
  readonly conversations: Readonly<Record<string, number>>;
  readonly presence: readonly PresenceEntry[];
  readonly has_more: boolean;
  readonly next?: string;
  readonly cursor: string | null;
}

export interface FrameError {
  readonly code: string;
  readonly message: string;
  readonly retry_after_ms?: number;
  readonly ref?: string;
}

export type ControlFrame =
  | HelloFrame
  | TypingFrame
  | SyncCompleteFrame
  | ({ readonly type: 'presence' } & PresenceEntry)
  | { readonly type: 'presence.snapshot'; readonly presence: readonly PresenceEntry[] }
  | { readonly type: 'sync.required'; readonly reason: string; readonly cursor: string | null; readonly after_ms: number }
  | { readonly type: 'token.expiring' | 'auth.ok'; readonly expires_in_ms: number }
  | { readonly type: 'reconnect'; readonly after_ms: number; readonly cursor?: string | null }
  | { readonly type: 'pong'; readonly cursor?: string | null }
  | { readonly type: 'error'; readonly error: FrameError };

/** The dialog that an event belongs to, as this viewer sees it. */
export interface ConversationCard {
  readonly type: string;
  readonly title?: string;
  readonly avatar_url?: string;
}

/** A message as the messenger wrote it, with its author's card; fields that the gateway does not know are there too. */
export interface Message {
  readonly id: string;
  /** Numbers a conversation's messages without holes; only `message.new` is sure to carry it. */
  readonly seq?: number;
  readonly sender_id?: string;
  readonly sender_name?: string;
  readonly avatar_url?: string;
  readonly text?: string;
  readonly [field: string]: unknown;
}

/** A fact of the messenger. `message.*` has `message`, every other type has `data`. */
export interface DurableFrame {
  readonly type: string;
  readonly conversation_id?: string;
  readonly event_id?: string;
  readonly occurred_at?: string;
  readonly message?: Message;
  readonly data?: unknown;
  readonly conversation?: ConversationCard;
  /** A card was missing by a fault: names may read "…", and fetching them elsewhere is worth a try. */
  readonly stale?: boolean;
  /** Absent on what a sync brings; null where the fleet fans out by pub/sub. */
  readonly cursor?: string | null;
}

export interface MessageFrame extends DurableFrame {
  readonly message: Message;
}

export type ClientFrame =
  | { readonly type: 'ping' }
  | { readonly type: 'typing'; readonly conversation_id: string }
  | { readonly type: 'auth'; readonly token: string }
  | {
      readonly type: 'sync';
      readonly conversations: Readonly<Record<string, number>>;
      readonly cursor: string | undefined;
      readonly next: string | undefined;
      readonly ref: string;
    };

/** The names that the gateway keeps for itself, also those that a later one may send: never events of a messenger. */
const RESERVED = /^(hello|typing|reconnect|pong|error)$|^(sync|token|auth)\.|^presence/;

export type ServerFrame = { readonly control: ControlFrame } | { readonly durable: DurableFrame };

/** undefined for whatever isn't a JSON object with a `type`. */
export function decodeFrame(text: unknown): ServerFrame | undefined {
  const frame = typeof text === 'string' ? parse(text) : undefined;
  if (!isRecord(frame) || typeof frame['type'] !== 'string') return undefined;
  if (frame['type'] === 'error' && !isRecord(frame['error'])) return undefined;
  // Tolerant: whatever decides something is read through the readers below by whoever acts on it.
  return RESERVED.test(frame['type']) ? { control: frame as unknown as ControlFrame } : { durable: frame as unknown as DurableFrame };
}

/** A `message.*` that can be told apart from every other message. */
export function hasMessage(frame: DurableFrame): frame is MessageFrame {
  return frame.type.startsWith('message.') && isRecord(frame.message) && typeof frame.message.id === 'string';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** `{id: seq}` of a frame or a stored state; what isn't a seq is left out. */
export function seqEntries(value: unknown): [string, number][] {
  return isRecord(value) ? Object.entries(value).flatMap(([id, seq]) => (isSeq(seq) ? [[id, seq] satisfies [string, number]] : [])) : [];
}

/** A wait that the wire asks for: garbage is `fallbackMs`, and nobody can send a client away for longer than ten minutes. */
export function waitMs(value: unknown, fallbackMs: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(value, 600_000) : fallbackMs;
}

export function presenceEntries(value: unknown): PresenceEntry[] {
  return Array.isArray(value) ? value.filter(isPresenceEntry) : [];
}

export function isPresenceEntry(value: unknown): value is PresenceEntry {
  return (
    isRecord(value) && typeof value['user_id'] === 'string' && typeof value['status'] === 'string' && typeof value['at_ms'] === 'number'
  );
}

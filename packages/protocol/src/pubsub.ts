import { decodeUserCard, type UserCard, userCardBody } from './cards.js';
import { asConversationId, asUserId, asUserIds, type ConversationId, type UserId } from './ids.js';
import { asObject, parseJson } from './json-text.js';
import { APPLICATION_CLOSE_CODES, MAX_CLOSE_REASON_BYTES } from './limits.js';

/** `gateway.presence`: published inside the atomic transition. Times are Unix ms of Redis. */
export interface PresenceMessage {
  readonly userId: UserId;
  readonly status: 'online' | 'offline';
  readonly lastSeenMs?: number;
  readonly atMs: number;
}

/** `gateway.typing`: `recipients` are the participants without the author. */
export interface TypingMessage {
  readonly conversationId: ConversationId;
  readonly userId: UserId;
  readonly recipients: readonly UserId[];
}

/** `gateway.control`: an administrator closes all sockets of a user. */
export interface ControlMessage {
  readonly op: 'disconnect';
  readonly userId: UserId;
  readonly code: number;
  readonly reason: string;
}

/** `user.updated`, with the new card when its publisher had it at hand. */
export interface UserUpdated {
  readonly userId: UserId;
  readonly card?: UserCard;
}

/** `conversation.updated` and `member.changed`. */
export interface ConversationChanged {
  readonly conversationId: ConversationId;
}

type Fields = Readonly<Record<string, unknown>>;

// All decoders read tolerantly: unknown fields are ignored, and a malformed message is undefined. Nobody could be told about it.

export function decodePresenceMessage(text: string): PresenceMessage | undefined {
  const fields = fieldsOf(text);
  const userId = asUserId(fields?.['user_id']);
  const status = fields?.['status'];
  const atMs = asMs(fields?.['at_ms']);
  const lastSeenMs = asMs(fields?.['last_seen_ms']);
  if (userId === undefined || (status !== 'online' && status !== 'offline') || atMs === undefined) return undefined;
  return { userId, status, ...(lastSeenMs === undefined ? {} : { lastSeenMs }), atMs };
}

export function encodePresenceMessage(message: PresenceMessage): string {
  return JSON.stringify({ user_id: message.userId, status: message.status, last_seen_ms: message.lastSeenMs, at_ms: message.atMs });
}

export function decodeTypingMessage(text: string): TypingMessage | undefined {
  const fields = fieldsOf(text);
  const conversationId = asConversationId(fields?.['conversation_id']);
  const userId = asUserId(fields?.['user_id']);
  const recipients = asUserIds(fields?.['recipients']);
  if (conversationId === undefined || userId === undefined || recipients === undefined) return undefined;
  return { conversationId, userId, recipients };
}

export function encodeTypingMessage(message: TypingMessage): string {
  return JSON.stringify({ conversation_id: message.conversationId, user_id: message.userId, recipients: message.recipients });
}

export function decodeControlMessage(text: string): ControlMessage | undefined {
  const fields = fieldsOf(text);
  const userId = asUserId(fields?.['user_id']);
  const code = fields?.['code'];
  const reason = fields?.['reason'];
  if (fields?.['op'] !== 'disconnect' || userId === undefined || !isApplicationCloseCode(code) || !isCloseReason(reason)) return undefined;
  return { op: 'disconnect', userId, code, reason };
}

export function encodeControlMessage(message: ControlMessage): string {
  return JSON.stringify({ op: message.op, user_id: message.userId, code: message.code, reason: message.reason });
}

export function decodeUserUpdated(text: string): UserUpdated | undefined {
  const fields = fieldsOf(text);
  const userId = asUserId(fields?.['user_id']);
  if (fields === undefined || userId === undefined) return undefined;
  // A card of another user, or no card at all, is the message without one: the replicas fetch the new card themselves.
  const card = decodeUserCard(asObject(fields['card']));
  return card?.userId === userId ? { userId, card } : { userId };
}

export function encodeUserUpdated(message: UserUpdated): string {
  return JSON.stringify({ user_id: message.userId, card: message.card && userCardBody(message.card) });
}

export function decodeConversationChanged(text: string): ConversationChanged | undefined {
  const conversationId = asConversationId(fieldsOf(text)?.['conversation_id']);
  return conversationId === undefined ? undefined : { conversationId };
}

export function encodeConversationChanged(message: ConversationChanged): string {
  return JSON.stringify({ conversation_id: message.conversationId });
}

/** True for a code that an application may close a socket with. */
export function isApplicationCloseCode(code: unknown): code is number {
  return Number.isInteger(code) && (code as number) >= APPLICATION_CLOSE_CODES.min && (code as number) <= APPLICATION_CLOSE_CODES.max;
}

/** True for a text that fits into a close frame. */
export function isCloseReason(reason: unknown): reason is string {
  return typeof reason === 'string' && new TextEncoder().encode(reason).length <= MAX_CLOSE_REASON_BYTES;
}

function fieldsOf(text: string): Fields | undefined {
  return asObject(parseJson(text));
}

/** Unix ms; Lua writes whole numbers. */
function asMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

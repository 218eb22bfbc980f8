import { asConversationId, asUserId, asUserIds, type ConversationId, type UserId } from './ids.js';
import { asObject, parseJson } from './json-text.js';

/** What user-service says about a user; names on frames come from here. */
export interface UserCard {
  readonly userId: UserId;
  readonly displayName: string;
  readonly avatarUrl?: string;
  readonly status?: string;
}

export type ConversationType = 'direct' | 'group';

/** What the messenger says about a conversation. */
export interface ConversationCard {
  readonly conversationId: ConversationId;
  readonly type: ConversationType;
  readonly title?: string;
  readonly avatarUrl?: string;
  /** Unique, in order. */
  readonly participants: readonly UserId[];
}

/** Decodes JSON bytes, JSON text, or what is already parsed; undefined when it is not a user card. */
export function decodeUserCard(card: unknown): UserCard | undefined {
  const fields = asObject(parsed(card));
  const userId = asUserId(fields?.['user_id']);
  const displayName = fields?.['display_name'];
  if (fields === undefined || userId === undefined || typeof displayName !== 'string') return undefined;
  const avatarUrl = asText(fields['avatar_url']);
  const status = asText(fields['status']);
  return { userId, displayName, ...(avatarUrl === undefined ? {} : { avatarUrl }), ...(status === undefined ? {} : { status }) };
}

/** Decodes JSON bytes, JSON text, or what is already parsed; undefined when it is not a conversation card. */
export function decodeConversationCard(card: unknown): ConversationCard | undefined {
  const fields = asObject(parsed(card));
  const conversationId = asConversationId(fields?.['conversation_id']);
  const type = asConversationType(fields?.['type']);
  const participants = asUserIds(fields?.['participants']);
  if (fields === undefined || conversationId === undefined || type === undefined || participants === undefined) return undefined;
  const title = asText(fields['title']);
  const avatarUrl = asText(fields['avatar_url']);
  return {
    conversationId,
    type,
    ...(title === undefined ? {} : { title }),
    ...(avatarUrl === undefined ? {} : { avatarUrl }),
    participants,
  };
}

/** A user card as user-service sends it and `user.updated` may carry it. */
export function encodeUserCard(card: UserCard): string {
  return JSON.stringify(userCardBody(card));
}

/** The card's fields by their names on the wire. */
export function userCardBody(card: UserCard): object {
  return { user_id: card.userId, display_name: card.displayName, avatar_url: card.avatarUrl, status: card.status };
}

/** A conversation card as the messenger sends it. */
export function encodeConversationCard(card: ConversationCard): string {
  const { conversationId, type, title, avatarUrl, participants } = card;
  return JSON.stringify({ conversation_id: conversationId, type, title, avatar_url: avatarUrl, participants });
}

export function asConversationType(value: unknown): ConversationType | undefined {
  return value === 'direct' || value === 'group' ? value : undefined;
}

function parsed(card: unknown): unknown {
  return typeof card === 'string' || card instanceof Uint8Array ? parseJson(card) : card;
}

/** An optional text that is not one is as good as absent: the card still has a name to show. */
function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

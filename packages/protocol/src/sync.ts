import { asConversationType, type ConversationType } from './cards.js';
import { decodeEnvelope, type Envelope } from './envelope.js';
import { asConversationId, asUserId, type ConversationId, type UserId } from './ids.js';
import { type JsonMember, scanArray, scanObject } from './json-scan.js';
import { asObject, decodeText, keyEquals, parseJson, stringAt } from './json-text.js';
import { MAX_PAGE_TOKEN_UNITS } from './limits.js';

/** What the gateway asks the messenger. */
export interface SyncRequest {
  readonly user_id: UserId;
  /** The highest seq that the user has, by conversation. */
  readonly conversations: ReadonlyMap<ConversationId, number>;
  /** Changes to older messages since this time (Unix ms) are wanted too. */
  readonly since_ms?: number;
  readonly page?: string;
}

/** One page of the messenger's answer. */
export interface SyncPage {
  readonly conversations: readonly SyncConversation[];
  readonly events: readonly SyncEvent[];
  /** Rows without a form, which the two lists above are without. */
  readonly malformed: { readonly conversations: number; readonly events: number };
  readonly nextPage?: string;
}

export interface SyncConversation {
  readonly conversationId: ConversationId;
  readonly type: ConversationType;
  readonly title?: string;
  /** The other person of a direct dialog. */
  readonly peerId?: UserId;
  readonly lastSeq: number;
}

/** An event of a page: an envelope without recipients, its payload as faithful as a live one's. */
export type SyncEvent = Envelope;

const letterN = 0x6e; // of `null`

export function encodeSyncRequest(request: SyncRequest): string {
  return JSON.stringify({ ...request, conversations: Object.fromEntries(request.conversations) });
}

/**
 * Decodes a page. Conversations and events without a form are left out and counted: one bad row must not keep a user from all others.
 * Undefined when the page itself is malformed: not JSON in UTF-8, not an object, no list of events (nobody could tell what the user has
 * missed), conversations that are not a list, or a `next_page` that is neither null nor a usable token (it would end the sync too early,
 * in silence).
 */
export function decodeSyncPage(bytes: Uint8Array): SyncPage | undefined {
  if (decodeText(bytes) === undefined) return undefined;
  const members = scanObject(bytes, 0, bytes.length);
  if (members === undefined) return undefined;
  const find = (name: string): JsonMember | undefined => members.findLast((member) => keyEquals(bytes, member, name));
  const conversations = find('conversations');
  const events = find('events');
  if (events === undefined) return undefined;

  const rows = conversations === undefined ? [] : parseJson(bytes.subarray(conversations.valueStart, conversations.valueEnd));
  const ranges = scanArray(bytes, events.valueStart, events.valueEnd);
  if (!Array.isArray(rows) || ranges === undefined) return undefined;

  const next = find('next_page');
  const nextPage = next === undefined || bytes[next.valueStart] === letterN ? undefined : stringAt(bytes, next.valueStart, next.valueEnd);
  const hasNext = next !== undefined && bytes[next.valueStart] !== letterN;
  if (hasNext && !isPageToken(nextPage)) return undefined;

  const named = rows.map(decodeSyncConversation).filter((row) => row !== undefined);
  const sound = ranges
    .map(({ start, end }) => decodeEnvelope(bytes.subarray(start, end), false))
    .filter((event) => typeof event === 'object');
  return {
    conversations: named,
    events: sound,
    malformed: { conversations: rows.length - named.length, events: ranges.length - sound.length },
    ...(nextPage === undefined ? {} : { nextPage }),
  };
}

function decodeSyncConversation(row: unknown): SyncConversation | undefined {
  const fields = asObject(row);
  const conversationId = asConversationId(fields?.['conversation_id']);
  const type = asConversationType(fields?.['type']);
  const lastSeq = fields?.['last_seq'];
  if (fields === undefined || conversationId === undefined || type === undefined) return undefined;
  if (typeof lastSeq !== 'number' || !Number.isSafeInteger(lastSeq) || lastSeq < 0) return undefined;
  const title = fields['title'];
  const peerId = asUserId(fields['peer_id']);
  return {
    conversationId,
    type,
    ...(typeof title === 'string' ? { title } : {}),
    ...(peerId === undefined ? {} : { peerId }),
    lastSeq,
  };
}

function isPageToken(token: string | undefined): boolean {
  return token !== undefined && token !== '' && token.length <= MAX_PAGE_TOKEN_UNITS;
}

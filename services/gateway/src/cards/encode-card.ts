import type { ConversationCard, UserCard } from '@event-gateway/protocol';
import type { SizedCard } from './card-cache.js';
import { BUFFER_BYTES, OBJECT_BYTES, REFERENCE_BYTES, stringBytes } from './card-size.js';
import type { CachedConversationCard, CachedUserCard } from './cards.js';

/** A user card as it is kept. */
export function encodeUserCard({ displayName, avatarUrl }: UserCard): SizedCard<CachedUserCard> {
  const avatar = avatarUrl === undefined ? '' : `,"avatar_url":${JSON.stringify(avatarUrl)}`;
  const named = ownBytes(JSON.stringify(displayName) + avatar);
  return { card: { displayName, named }, bytes: OBJECT_BYTES + BUFFER_BYTES + named.length + stringBytes(displayName) };
}

/** A conversation card as it is kept. A group may list thousands of participants: they are most of its size. */
export function encodeConversationCard({ type, title, avatarUrl, participants }: ConversationCard): SizedCard<CachedConversationCard> {
  const header = ownBytes(JSON.stringify({ type, title, avatar_url: avatarUrl }));
  let bytes = OBJECT_BYTES + BUFFER_BYTES + header.length;
  for (const participant of participants) bytes += REFERENCE_BYTES + stringBytes(participant);
  return { card: { type, participants, header }, bytes };
}

/** Memory of its own: a small Buffer otherwise keeps the 8 KiB alive that it was cut from. */
function ownBytes(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

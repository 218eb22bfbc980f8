import type { ConversationCard, UserCard } from '@event-gateway/protocol';
import type { SizedCard } from './card-cache.js';
import type { CachedConversationCard, CachedUserCard } from './cards.js';

// What memory takes beyond the bytes themselves, measured on Node 20, 22 and 24.
const bufferBytes = 250;
const objectBytes = 100;
const stringBytes = 24;

/** A user card as it is kept. */
export function encodeUserCard({ displayName, avatarUrl }: UserCard): SizedCard<CachedUserCard> {
  const avatar = avatarUrl === undefined ? '' : `,"avatar_url":${JSON.stringify(avatarUrl)}`;
  const named = ownBytes(JSON.stringify(displayName) + avatar);
  return { card: { displayName, named }, bytes: objectBytes + bufferBytes + named.length + sizeOf(displayName) };
}

/** A conversation card as it is kept. A group may list thousands of participants: they are most of its size. */
export function encodeConversationCard({ type, title, avatarUrl, participants }: ConversationCard): SizedCard<CachedConversationCard> {
  const header = ownBytes(JSON.stringify({ type, title, avatar_url: avatarUrl }));
  let bytes = objectBytes + bufferBytes + header.length;
  for (const participant of participants) bytes += 8 + sizeOf(participant);
  return { card: { type, participants, header }, bytes };
}

function sizeOf(text: string): number {
  return stringBytes + 2 * text.length;
}

/** Memory of its own: a small Buffer otherwise keeps the 8 KiB alive that it was cut from. */
function ownBytes(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

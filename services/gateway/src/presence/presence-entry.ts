import type { PresenceEntry, UserId } from '@event-gateway/protocol';
import { asNumber } from './decode-replies.js';

/** What is told while Redis cannot be asked. */
export function unknownEntry(userId: UserId, atMs: number): PresenceEntry {
  return { user_id: userId, status: 'unknown', at_ms: atMs };
}

/** What Redis says of a user: the end of his last lease (null: he has none), and his last activity, as scores. */
export function publishedEntry(userId: UserId, atMs: number, lease: unknown, seen: unknown): PresenceEntry {
  if (typeof lease === 'string') return { user_id: userId, status: 'online', at_ms: atMs };
  return { user_id: userId, status: 'offline', ...lastSeen(asNumber(seen)), at_ms: atMs };
}

/** The last activity (Unix ms) as frames say it; nothing when it is no time. */
export function lastSeen(unixMs: number | undefined): { last_seen?: string } {
  if (unixMs === undefined) return {};
  const date = new Date(unixMs);
  return Number.isNaN(date.getTime()) ? {} : { last_seen: date.toISOString() };
}

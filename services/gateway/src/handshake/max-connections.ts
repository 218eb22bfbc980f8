import { readFileSync } from 'node:fs';
import type { Logger } from '@event-gateway/runtime';

/** What a replica opens besides its sockets: Redis, owners, the internal port (at most 128 connections), files. */
const ownFds = 256;

/** Of these, what is kept from everybody who knocks: half, since never all of them are in use. */
const reservedFds = ownFds / 2;

/** Sockets that are being refused, or are slow with their request, hold a descriptor too until they are gone. */
const refusedShare = 0.05;

/** Where the system does not tell its limit (it has no /proc). */
const fallbackFds = 8192;

/** More would need more memory than one process of this kind is given. */
const maxFds = 1_048_576;

/**
 * How many sockets this process may hold, from its limit of file descriptors. At the limit itself the transport would spin and clients
 * would hang without an error, so the cap stays below it.
 */
export function maxConnectionsOf(fds: number): number {
  return Math.max(1, Math.floor((fds - ownFds) * (1 - refusedShare)));
}

/**
 * How many sockets may be open at all, those included that have not been upgraded. Beyond that they are closed unread: there is no room
 * left to refuse them.
 */
export function maxSocketsOf(fds: number): number {
  return Math.max(1, fds - reservedFds);
}

/** The soft limit of file descriptors of this process. */
export function readFdLimit(path = '/proc/self/limits'): number {
  const soft = /^Max open files +(\d+|unlimited)/m.exec(readText(path))?.[1];
  if (soft === undefined) return fallbackFds;
  return soft === 'unlimited' ? maxFds : Math.min(Number(soft), maxFds);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // no such file on this system: the fallback is the answer
  }
}

/** What is configured, as far as the file descriptors go. */
export function boundedMaxConnections(configured: number | undefined, logger: Logger): number {
  const possible = maxConnectionsOf(readFdLimit());
  if (configured !== undefined && configured > possible) {
    logger.warn({ configured, possible }, 'MAX_CONNECTIONS is above what the limit of file descriptors allows');
  }
  return Math.min(configured ?? possible, possible);
}

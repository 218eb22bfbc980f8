import { asUserId, type UserId } from '@event-gateway/protocol';

/** Replies of presence's scripts come as nested lists of strings, numbers and null; these read them without believing more than that. */

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asStrings(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

/** A whole number, or the score of a sorted set (a string); NaN for anything else. */
export function asNumber(value: unknown): number {
  return typeof value === 'number' ? value : typeof value === 'string' ? Number(value) : Number.NaN;
}

/** Those that are user ids. What is not one can be nobody's, and says nothing about the others. */
export function onlyUserIds(values: readonly unknown[]): UserId[] {
  return values.map(asUserId).filter((userId) => userId !== undefined);
}

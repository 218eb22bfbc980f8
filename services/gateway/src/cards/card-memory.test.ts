import type { ConversationCard, ConversationId, UserCard, UserId } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import { describe, expect, test } from 'vitest';
import { usedBytes } from '../../test/memory.js';
import { CachedCards } from './cached-cards.js';
import type { CardSource } from './card-cache.js';

function source<I extends string, T>(cardOf: (id: I) => T | undefined): CardSource<I, T> {
  return {
    isServing: true,
    onProbe: () => undefined,
    fetch: async (id) => {
      const value = cardOf(id);
      return value === undefined ? { kind: 'none' } : { kind: 'found', value };
    },
  };
}

/** Strings of their own, as a parser makes them: concatenations would share their parts. */
function parsed<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const maxBytes = 8_388_608;
/** Many times what fits: whether it is twenty times or a hundred makes no difference. */
const manyUsers = 100_000;
const half = maxBytes / 2;

function cardsOf(
  user: (id: UserId) => UserCard | undefined,
  conversation: (id: ConversationId) => ConversationCard | undefined,
): CachedCards {
  return new CachedCards(
    { users: source(user), conversations: source(conversation), clock: new FakeClock(), metrics: { lookedUp: () => undefined } },
    { maxBytes, ttlMs: 60_000, negativeTtlMs: 60_000, faultTtlMs: 60_000, deadlineMs: 100 },
  );
}

async function warmUsers(cards: CachedCards, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1000) {
    const ids = Array.from({ length: 1000 }, (_, k) => `user-${i + k}` as UserId);
    await cards.warm(ids, []);
  }
}

describe('what the cards occupy stays within what is configured, half of it for each kind', () => {
  test('a hundred thousand users', async () => {
    const cards = cardsOf(
      (userId) => parsed({ userId, displayName: `Name of ${userId}`, avatarUrl: `https://a.test/${userId}.png` }),
      () => undefined,
    );
    const before = usedBytes();
    await warmUsers(cards, manyUsers);
    const grownBytes = usedBytes() - before;
    expect(cards.user('user-99999' as UserId)).toMatchObject({ displayName: 'Name of user-99999' });
    expect(grownBytes).toBeLessThan(half);
    expect(grownBytes).toBeGreaterThan(half / 4); // the bound is used
  });

  test('a hundred thousand ids that nobody has', async () => {
    const cards = cardsOf(
      () => undefined,
      () => undefined,
    );
    const before = usedBytes();
    await warmUsers(cards, manyUsers);
    const grownBytes = usedBytes() - before;
    expect(cards.user('user-99999' as UserId)).toBe('absent');
    expect(grownBytes).toBeLessThan(half);
  });

  test.each([
    ['two participants', 2, 'user'],
    ['a thousand participants', 1000, 'user'],
    ['a thousand participants whose ids are not ASCII', 1000, 'кто'],
  ])('conversations of %s', async (_, count, prefix) => {
    const cards = cardsOf(
      () => undefined,
      (conversationId) => {
        const participants = Array.from({ length: count }, (__, k) => `${prefix}-${conversationId}-${k}` as UserId);
        return parsed({ conversationId, type: 'group' as const, title: `Title of ${conversationId}`, participants });
      },
    );
    const before = usedBytes();
    const conversations = Math.ceil((4 * half) / (300 + 40 * count));
    for (let i = 0; i < conversations; i++) await cards.warm([], [`c${i}` as ConversationId]);
    const grownBytes = usedBytes() - before;
    expect(cards.conversation(`c${conversations - 1}` as ConversationId)).toMatchObject({ type: 'group' });
    expect(cards.conversation('c0' as ConversationId)).toBe('missing');
    expect(grownBytes).toBeLessThan(half);
  });
});

import type { UserCard, UserId } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import { describe, expect, test } from 'vitest';
import { CardCache, type CardCacheOptions } from './card-cache.js';
import { ENTRY_BYTES, OBJECT_BYTES } from './card-size.js';
import type { CachedUserCard, CardLookup } from './cards.js';
import type { CardResult } from './cards-metrics.js';
import { encodeUserCard } from './encode-card.js';
import type { OwnerAnswer } from './owner-answer.js';

const u1 = 'u1' as UserId;
const u2 = 'u2' as UserId;

interface Asked {
  readonly id: UserId;
  readonly answer: (answer: OwnerAnswer<UserCard>) => Promise<void>;
}

/** An owner whose answers the test gives one by one. */
function playedOwner(options: Partial<CardCacheOptions> = {}) {
  const clock = new FakeClock();
  const asked: Asked[] = [];
  const lookups: CardResult[] = [];
  const source = {
    isServing: true,
    probe: (): void => undefined,
    fetch: (id: UserId): Promise<OwnerAnswer<UserCard>> =>
      new Promise((resolve) => {
        asked.push({
          id,
          answer: async (answer) => {
            resolve(answer);
            await clock.advance(0);
          },
        });
      }),
    onProbe(probe: () => void): void {
      source.probe = probe;
    },
  };
  const limits = { maxBytes: 1_000_000, ttlMs: 1000, negativeTtlMs: 100, faultTtlMs: 200, ...options };
  const cache = new CardCache(source, encodeUserCard, clock, limits, (result) => lookups.push(result));
  const ask = (index: number): Asked => {
    const request = asked[index];
    if (request === undefined) throw new Error(`request ${index} was not made`);
    return request;
  };
  return { clock, asked, ask, lookups, source, cache, want: (id: UserId) => cache.want(id, clock.nowMs()) };
}

const named = (displayName: string, userId = u1): OwnerAnswer<UserCard> => ({ kind: 'found', value: { userId, displayName } });
const nobody: OwnerAnswer<UserCard> = { kind: 'none' };
const failed: OwnerAnswer<UserCard> = { kind: 'fault', reason: 'status' };

function nameIn(card: CardLookup<CachedUserCard>): string {
  return typeof card === 'object' ? card.displayName : card;
}

describe('loading', () => {
  test('a card is loaded once however many want it, and is then there without waiting', async () => {
    const { cache, want, asked, ask, lookups } = playedOwner();
    const first = want(u1);
    expect(want(u1)).toBe(first);
    await ask(0).answer(named('Alice'));
    await first?.done;
    expect(want(u1)).toBeUndefined();
    expect(nameIn(cache.peek(u1))).toBe('Alice');
    expect(asked).toHaveLength(1);
    expect(lookups).toEqual(['load', 'load', 'hit']);
  });

  test('looking alone never asks the owner', () => {
    const { cache, asked } = playedOwner();
    expect(cache.peek(u1)).toBe('missing');
    expect(asked).toHaveLength(0);
  });

  test('a card that is judged alive stays until it is used, even if its time ends in between', async () => {
    const { cache, want, ask, clock } = playedOwner();
    want(u1);
    await ask(0).answer(named('Alice'));
    await clock.advance(999);
    expect(want(u1)).toBeUndefined();
    await clock.advance(50);
    expect(nameIn(cache.peek(u1))).toBe('Alice');
  });

  test('after its time a card is loaded again, and is not shown meanwhile', async () => {
    const { cache, want, ask, asked, clock } = playedOwner();
    want(u1);
    await ask(0).answer(named('Alice'));
    await clock.advance(1000);
    expect(want(u1)).toBeDefined();
    expect(cache.peek(u1)).toBe('missing');
    await ask(1).answer(named('Alicia'));
    expect(nameIn(cache.peek(u1))).toBe('Alicia');
    expect(asked).toHaveLength(2);
  });

  test('a card in use is fetched again in the last tenth of its time, once and without waiting', async () => {
    const { cache, want, ask, asked, clock, lookups } = playedOwner();
    want(u1);
    await ask(0).answer(named('Alice'));
    await clock.advance(899);
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(want(u1)).toBeUndefined();
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(2);
    await ask(1).answer(named('Alicia'));
    expect(nameIn(cache.peek(u1))).toBe('Alicia');
    expect(lookups).toEqual(['load', 'hit', 'refresh', 'hit']);
  });
});

describe('404 and faults', () => {
  test('a 404 is believed for the negative TTL', async () => {
    const { cache, want, ask, asked, clock, lookups } = playedOwner();
    want(u1);
    await ask(0).answer(nobody);
    expect(cache.peek(u1)).toBe('absent');
    await clock.advance(99);
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(want(u1)).toBeDefined();
    await ask(1).answer(named('Alice'));
    expect(nameIn(cache.peek(u1))).toBe('Alice');
    expect(lookups).toEqual(['load', 'absent', 'load']);
  });

  test('a card that its owner failed to give is not asked for with every event', async () => {
    const { cache, want, ask, asked, clock } = playedOwner();
    want(u1);
    await ask(0).answer(failed);
    expect(cache.peek(u1)).toBe('missing');
    await clock.advance(199);
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(want(u1)).toBeDefined();
  });

  test('the pause after a fault counts from the request: an owner that hangs is asked as often as one that fails at once', async () => {
    const { want, ask, clock } = playedOwner();
    want(u1);
    await clock.advance(150);
    await ask(0).answer(failed);
    await clock.advance(50);
    expect(want(u1)).toBeDefined();
  });

  test('an answer that says nothing about the card is not remembered', async () => {
    const { want, ask } = playedOwner();
    want(u1);
    await ask(0).answer({ kind: 'fault', reason: 'overloaded' });
    expect(want(u1)).toBeDefined();
  });

  test('a card stays when fetching it again fails, until its time is over', async () => {
    const { cache, want, ask, asked, clock } = playedOwner();
    want(u1);
    await ask(0).answer(named('Alice'));
    cache.suspectAll();
    want(u1);
    await ask(1).answer(failed);
    expect(want(u1)).toBeUndefined();
    expect(nameIn(cache.peek(u1))).toBe('Alice');
    expect(asked).toHaveLength(2);
    await clock.advance(200);
    want(u1);
    expect(asked).toHaveLength(3);
  });
});

describe('invalidation', () => {
  test('an invalidated card is gone at once and loaded when it is next wanted', async () => {
    const { cache, want, ask } = playedOwner();
    want(u1);
    await ask(0).answer(named('Old'));
    cache.invalidate(u1);
    expect(cache.peek(u1)).toBe('missing');
    want(u1);
    await ask(1).answer(named('New'));
    expect(nameIn(cache.peek(u1))).toBe('New');
  });

  test('a load in flight at the invalidation never stores the old value: it is asked for again at once, for those who wait', async () => {
    const { cache, want, ask, asked } = playedOwner();
    const load = want(u1);
    cache.invalidate(u1);
    expect(asked).toHaveLength(2);
    await ask(0).answer(named('Old'));
    expect(cache.peek(u1)).toBe('missing');
    expect(load?.isDone).toBe(false);
    await ask(1).answer(named('New'));
    expect(load?.isDone).toBe(true);
    expect(nameIn(cache.peek(u1))).toBe('New');
  });

  test('the old value is not stored when it comes after the new one', async () => {
    const { cache, want, ask } = playedOwner();
    want(u1);
    cache.invalidate(u1);
    await ask(1).answer(named('New'));
    await ask(0).answer(named('Old'));
    expect(nameIn(cache.peek(u1))).toBe('New');
  });

  test('a card that is invalidated without end has at most two requests under way, and the last word is asked for', async () => {
    const { cache, want, ask, asked } = playedOwner();
    want(u1);
    for (let i = 0; i < 1000; i++) cache.invalidate(u1);
    expect(asked).toHaveLength(2);
    await ask(0).answer(named('Oldest'));
    expect(asked).toHaveLength(3);
    await ask(1).answer(named('Older'));
    expect(cache.peek(u1)).toBe('missing');
    await ask(2).answer(named('New'));
    expect(nameIn(cache.peek(u1))).toBe('New');
    expect(asked).toHaveLength(3);
  });

  test('a card that comes with its invalidation replaces without a fetch, ends the waiting, and outlives what was on its way', async () => {
    const { cache, want, ask, asked } = playedOwner();
    const load = want(u1);
    cache.replace(u1, { userId: u1, displayName: 'New' });
    expect(load?.isDone).toBe(true);
    expect(nameIn(cache.peek(u1))).toBe('New');
    await ask(0).answer(named('Old'));
    expect(nameIn(cache.peek(u1))).toBe('New');
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test('a 404 is forgotten by an invalidation', async () => {
    const { cache, want, ask } = playedOwner();
    want(u1);
    await ask(0).answer(nobody);
    cache.invalidate(u1);
    expect(want(u1)).toBeDefined();
  });

  test('a card that was never here is not asked for when it is invalidated', () => {
    const { cache, asked } = playedOwner();
    cache.invalidate(u1);
    expect(cache.peek(u1)).toBe('missing');
    expect(asked).toHaveLength(0);
  });
});

describe('suspicion', () => {
  test('a suspect card is served while it is fetched again, once', async () => {
    const { cache, want, ask, asked, lookups } = playedOwner();
    want(u1);
    await ask(0).answer(named('Old'));
    cache.suspectAll();
    expect(want(u1)).toBeUndefined();
    expect(want(u1)).toBeUndefined();
    expect(nameIn(cache.peek(u1))).toBe('Old');
    expect(asked).toHaveLength(2);
    await ask(1).answer(named('New'));
    expect(want(u1)).toBeUndefined();
    expect(nameIn(cache.peek(u1))).toBe('New');
    expect(asked).toHaveLength(2);
    expect(lookups).toEqual(['load', 'refresh', 'hit', 'hit']);
  });

  test('what was asked for before the suspicion is suspect when it comes', async () => {
    const { cache, want, ask, asked } = playedOwner();
    want(u1);
    cache.suspectAll();
    await ask(0).answer(named('Old'));
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  test('cards that nobody wants are not fetched again', async () => {
    const { cache, want, ask, asked } = playedOwner();
    want(u1);
    await ask(0).answer(named('Alice'));
    cache.suspectAll();
    want(u2);
    expect(asked.map(({ id }) => id)).toEqual([u1, u2]);
  });
});

describe('an owner that fails', () => {
  test('nobody waits for an owner that is left alone, and it is tried with the card that was wanted last', async () => {
    const { cache, want, ask, asked, source } = playedOwner();
    source.isServing = false;
    expect(want(u1)).toBeUndefined();
    expect(want(u2)).toBeUndefined();
    expect(asked).toHaveLength(0);
    source.probe();
    expect(want(u2)).toBeUndefined();
    expect(asked.map(({ id }) => id)).toEqual([u2]);
    source.isServing = true;
    await ask(0).answer(named('Bob', u2));
    expect(nameIn(cache.peek(u2))).toBe('Bob');
    expect(want(u1)).toBeDefined();
  });

  test('a card that is there is served while its owner is left alone', async () => {
    const { cache, want, ask, asked, source } = playedOwner();
    want(u1);
    await ask(0).answer(named('Alice'));
    source.isServing = false;
    cache.suspectAll();
    expect(want(u1)).toBeUndefined();
    expect(nameIn(cache.peek(u1))).toBe('Alice');
    expect(asked).toHaveLength(1);
  });

  test('a load that somebody waited for in vain is not waited for again, and lands in the cache when it comes', async () => {
    const { cache, want, ask } = playedOwner();
    const load = want(u1);
    if (load !== undefined) cache.gaveUp(load);
    expect(want(u1)).toBeUndefined();
    await ask(0).answer(named('Alice'));
    expect(nameIn(cache.peek(u1))).toBe('Alice');
  });

  test('while five loads are overdue nobody waits for other cards either; they are loaded all the same', async () => {
    const { cache, want, ask, asked } = playedOwner();
    for (let i = 0; i < 5; i++) {
      const load = want(`slow${i}` as UserId);
      if (load !== undefined) cache.gaveUp(load);
    }
    expect(want(u1)).toBeUndefined();
    expect(asked.at(-1)?.id).toBe(u1);
    await ask(0).answer(failed);
    expect(want(u2)).toBeDefined();
  });

  test('an invalidated card is waited for again, although its old load was overdue', () => {
    const { cache, want } = playedOwner();
    const load = want(u1);
    if (load !== undefined) cache.gaveUp(load);
    cache.invalidate(u1);
    expect(want(u1)).toBe(load);
  });
});

describe('the bound', () => {
  test('cards over the budget make room, least recently used first', async () => {
    const { cache, want, ask } = playedOwner({ maxBytes: 10_000 });
    for (let i = 0; i < 100; i++) {
      want(`u${i}` as UserId);
      await ask(i).answer(named(`Name ${i}`));
      want('u0' as UserId);
    }
    const kept = Array.from({ length: 100 }, (_, i) => cache.peek(`u${i}` as UserId)).filter((card) => card !== 'missing');
    expect(kept.length).toBeLessThan(10_000 / (ENTRY_BYTES + OBJECT_BYTES));
    expect(nameIn(cache.peek('u99' as UserId))).toBe('Name 99');
    expect(nameIn(cache.peek('u0' as UserId))).toBe('Name 0');
    expect(cache.peek('u50' as UserId)).toBe('missing');
  });

  test('a card larger than the whole cache is a fault that is remembered, not a load for every event', async () => {
    const { cache, want, ask, asked } = playedOwner({ maxBytes: 5000 });
    want(u1);
    await ask(0).answer(named('x'.repeat(10_000)));
    expect(cache.peek(u1)).toBe('missing');
    expect(want(u1)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });
});

describe('an answer that comes after its timeout', () => {
  const overdue = (late: Promise<OwnerAnswer<UserCard>>): OwnerAnswer<UserCard> => ({ kind: 'fault', reason: 'timeout', late });

  async function timedOut() {
    const played = playedOwner();
    let arrive: (answer: OwnerAnswer<UserCard>) => void = () => undefined;
    const late = new Promise<OwnerAnswer<UserCard>>((resolve) => {
      arrive = resolve;
    });
    played.want(u1);
    await played.ask(0).answer(overdue(late));
    const come = async (answer: OwnerAnswer<UserCard>): Promise<void> => {
      arrive(answer);
      await played.clock.advance(0);
    };
    return { ...played, come };
  }

  test('is as good as one in time', async () => {
    const { cache, come } = await timedOut();
    expect(cache.peek(u1)).toBe('missing');
    await come(named('Alice'));
    expect(nameIn(cache.peek(u1))).toBe('Alice');
  });

  test('is not taken when the card has changed since it was asked for', async () => {
    const { cache, come } = await timedOut();
    cache.invalidate(u1);
    await come(named('Alice'));
    expect(cache.peek(u1)).toBe('missing');
  });

  test('does not replace what was learnt since', async () => {
    const { cache, come } = await timedOut();
    cache.replace(u1, { userId: u1, displayName: 'Alice B.' });
    await come(named('Alice'));
    expect(nameIn(cache.peek(u1))).toBe('Alice B.');
  });

  test('that is none in the end changes nothing', async () => {
    const { cache, come } = await timedOut();
    await come(failed);
    expect(cache.peek(u1)).toBe('missing');
  });
});

import type { ConversationId, UserId } from '@event-gateway/protocol';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Audience } from './audience.js';
import { GroupLessons } from './group-lessons.js';
import { user } from './test/test-hub.js';

const group = (name: string): ConversationId => name as ConversationId;
const crowd = (prefix: string, count: number): UserId[] => Array.from({ length: count }, (_, i) => user(`${prefix}${i}`));
const all = Number.POSITIVE_INFINITY;

describe('what a card costs, in pairs looked at', () => {
  const here = crowd('here', 20);
  const members = [...here, ...crowd('away', 30)];
  let looks: number;
  let present: Set<UserId>;
  let lessons: GroupLessons;

  beforeEach(() => {
    looks = 0;
    present = new Set(here);
    lessons = new GroupLessons({
      isHere: (userId) => present.has(userId),
      add: () => ++looks > 0,
      dropThrough: () => [],
    });
  });

  function costOf(name: string, ...users: readonly UserId[]): number {
    looks = 0;
    lessons.note(group(name), new Set(users));
    lessons.study(all);
    return looks;
  }

  test('the first one costs members who are here × members; the same again costs nothing', () => {
    expect(costOf('g', ...members)).toBe(here.length * members.length);
    expect(costOf('g', ...members)).toBe(0);
    expect(costOf('g', ...members.toReversed())).toBe(0);
    expect(lessons.isBehind).toBe(false);
  });

  test('one more member costs one look for each who is here, one less costs none', () => {
    costOf('g', ...members);
    expect(costOf('g', ...members, user('new'))).toBe(here.length);
    expect(costOf('g', ...members)).toBe(0);
  });

  test('one who came since the last card costs as much as there are members, as does one who came back', () => {
    costOf('g', ...members);
    present.add(user('away0'));
    expect(costOf('g', ...members)).toBe(members.length);
    lessons.leave(user('here0'));
    expect(costOf('g', ...members)).toBe(members.length);
    expect(costOf('g', ...members)).toBe(0);
  });

  test('a group with nobody here costs nothing', () => {
    expect(costOf('g', ...crowd('away', 30))).toBe(0);
    expect(lessons.has(group('g'))).toBe(false);
  });

  test('is spread over lessons: each looks at no more than it may, and the last step it began', () => {
    lessons.note(group('g'), new Set(members));
    let rounds = 0;
    for (; lessons.isBehind; rounds++) {
      const before = looks;
      lessons.study(120);
      expect(looks - before).toBeLessThan(120 + members.length);
    }
    expect([rounds, looks]).toEqual([7, here.length * members.length]);
  });

  test('a small group does not wait until a big one is through', () => {
    lessons.note(group('big'), new Set(members));
    lessons.note(group('small'), new Set(here.slice(0, 2)));
    lessons.study(1);
    expect(lessons.study(4).learned).toEqual([here[0], here[1]].flatMap((viewer) => here.slice(0, 2).map((peer) => ({ viewer, peer }))));
    expect(lessons.isBehind).toBe(true);
  });

  test('a group is forgotten with the last of its members who is here, whatever was left to do', () => {
    lessons.note(group('g'), new Set([user('here0'), user('here1'), user('away0')]));
    lessons.note(group('g'), new Set([user('here1'), user('away1')]));
    lessons.leave(user('here0'));
    expect([lessons.has(group('g')), lessons.isBehind]).toEqual([true, true]);
    lessons.leave(user('here1'));
    expect([lessons.has(group('g')), lessons.isBehind]).toEqual([false, false]);
    expect(lessons.study(all)).toEqual({ learned: [], forgotten: [] });
  });
});

describe('in slices', () => {
  let audience: Audience;
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(user) as [UserId, UserId, UserId, UserId];
  const load = (name: string, ...participants: UserId[]) =>
    audience.learnConversation({ conversationId: group(name), type: 'group', participants });
  const peers = (viewer: UserId): UserId[] => [...audience.peersOf(viewer)];
  function finish(): void {
    while (audience.isBehind) audience.learnMore();
  }

  beforeEach(() => {
    audience = new Audience({ audience: 'all', maxPeers: 100, lessonPairs: 1 });
    for (const userId of [a, b]) audience.join(userId);
  });

  test('who left the group before his turn is shown to nobody, and nobody to him', () => {
    load('g', a, b, c);
    expect([peers(a), peers(b)]).toEqual([[b, c], []]);
    load('g', a, c);
    finish();
    expect([peers(a), peers(b)]).toEqual([[c], []]);
  });

  test('who left and came back before his turn stays seen, and sees who came in between', () => {
    load('g', a, b);
    finish();
    load('other', a, b); // is ahead of what follows
    load('g', a);
    load('g', a, b, d);
    finish();
    expect([peers(a), peers(b)]).toEqual([
      [b, d],
      [a, d],
    ]);
  });

  test('who went before his turn is shown nobody; come back, he is with the next card', () => {
    load('g', a, b, c);
    audience.leave(b);
    finish();
    audience.join(b);
    finish();
    expect([peers(a), peers(b)]).toEqual([[b, c], []]);
    load('g', a, b, c);
    finish();
    expect(peers(b)).toEqual([a, c]);
  });

  test('two who left at once do not see each other any more', () => {
    load('g', a, b, c);
    finish();
    load('g', c);
    finish();
    expect([peers(a), peers(b)]).toEqual([[], []]);
  });

  test('a peer lost with one group is seen again with the next card of another', () => {
    load('g', a, b);
    load('h', a, b);
    finish();
    load('h', a);
    finish();
    load('g', a, b);
    finish();
    expect([peers(a), peers(b)]).toEqual([[b], [a]]);
  });

  test('who left a group is not shown its later members, whatever else he loses', () => {
    for (const name of ['g', 'h']) load(name, a, b);
    finish();
    for (const name of ['g', 'h']) load(name, b);
    finish();
    load('g', b, c);
    finish();
    expect([peers(a), peers(b)]).toEqual([[], [c]]);
  });

  type Step =
    | { readonly kind: 'join' | 'leave'; readonly userId: UserId }
    | { readonly kind: 'card'; readonly name: string; readonly members: UserId[] }
    | { readonly kind: 'study' };
  const someUser = fc.constantFrom(...['a', 'b', 'c', 'd', 'e'].map(user));
  const someStep: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom('join' as const, 'leave' as const), userId: someUser }),
    fc.record({ kind: fc.constant('card' as const), name: fc.constantFrom('g', 'h'), members: fc.uniqueArray(someUser) }),
    fc.record({ kind: fc.constant('study' as const) }),
  );

  test('whatever happens in between, one sees in the end those whom one shares a group with, and after each next card all of them', () => {
    fc.assert(
      fc.property(fc.array(someStep, { maxLength: 40 }), (steps) => {
        audience = new Audience({ audience: 'all', maxPeers: 100, lessonPairs: 1 });
        const cards = new Map<string, UserId[]>();
        for (const step of steps) {
          if (step.kind === 'study') audience.learnMore();
          else if (step.kind !== 'card') audience[step.kind](step.userId);
          else {
            cards.set(step.name, step.members);
            load(step.name, ...step.members);
          }
        }
        const shared = (viewer: UserId): UserId[] => {
          const groups = [...cards.values()].filter((members) => members.includes(viewer));
          return [...new Set(groups.flat())].filter((peer) => peer !== viewer).toSorted();
        };
        finish();
        for (const viewer of audience.users()) expect(shared(viewer)).toEqual(expect.arrayContaining(peers(viewer)));
        for (const [name, members] of cards) load(name, ...members);
        finish();
        for (const viewer of audience.users()) expect(peers(viewer).toSorted()).toEqual(shared(viewer));
      }),
      { numRuns: 1000 },
    );
  });
});

import type { ConversationCard, ConversationId, SyncConversation, UserId } from '@event-gateway/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { Audience } from './audience.js';
import { user } from './test/test-hub.js';

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(user) as [UserId, UserId, UserId, UserId];
const id = (text: string): ConversationId => text as ConversationId;
const direct = (conversation: string, ...participants: UserId[]): ConversationCard => ({
  conversationId: id(conversation),
  type: 'direct',
  participants,
});
const group = (conversation: string, ...participants: UserId[]): ConversationCard => ({
  ...direct(conversation, ...participants),
  type: 'group',
});
const syncedDirect = (conversation: string, peerId: UserId): SyncConversation => ({
  conversationId: id(conversation),
  type: 'direct',
  peerId,
  lastSeq: 0,
});

let audience: Audience;
const viewers = (peer: UserId): UserId[] => [...audience.viewersOf(peer)];
const peers = (viewer: UserId): UserId[] => [...audience.peersOf(viewer)];

beforeEach(() => {
  audience = new Audience({ audience: 'direct', maxPeers: 100, lessonPairs: 1000 });
  audience.join(a);
  audience.join(b);
});

describe('direct', () => {
  test('the two of a direct dialog see each other, as far as they are here', () => {
    const { learned } = audience.learnConversation(direct('d1', a, c));
    expect(learned).toEqual([{ viewer: a, peer: c }]);
    expect(viewers(c)).toEqual([a]);
    expect(viewers(a)).toEqual([]);
    audience.learnConversation(direct('d2', a, b));
    expect([viewers(a), viewers(b)]).toEqual([[b], [a]]);
  });

  test('members of a group see nothing of each other', () => {
    expect(audience.learnConversation(group('g1', a, b, c)).learned).toEqual([]);
    expect(audience.learnConversation(group('g2', a, b)).learned).toEqual([]);
    audience.learnSynced(a, [{ conversationId: id('g1'), type: 'group', peerId: c, lastSeq: 0 }], true);
    expect([viewers(a), viewers(b), viewers(c)]).toEqual([[], [], []]);
  });

  test('a dialog with oneself, or with more than two, shows nobody', () => {
    audience.learnConversation(direct('d1', a, a));
    audience.learnConversation(direct('d1', a));
    audience.learnConversation(direct('d1', a, b, c));
    audience.learnSynced(a, [syncedDirect('d1', a)], false);
    expect([viewers(a), viewers(b), viewers(c)]).toEqual([[], [], []]);
  });

  test('a sync names the peers of its user', () => {
    expect(audience.learnSynced(a, [syncedDirect('d1', c), syncedDirect('d2', d)], false).learned).toHaveLength(2);
    expect(peers(a)).toEqual([c, d]);
    expect(audience.learnSynced(a, [syncedDirect('d1', c)], false).learned).toEqual([]);
  });

  test('who left is neither a viewer nor remembered', () => {
    audience.learnConversation(direct('d1', a, c));
    audience.leave(a);
    expect(viewers(c)).toEqual([]);
    audience.learnSynced(a, [syncedDirect('d1', c)], false);
    audience.recall(a, [c]);
    audience.join(a);
    expect(peers(a)).toEqual([]);
  });

  test('a dialog that lost one of its two ends what they saw of each other, and only that', () => {
    audience.learnConversation(direct('d1', a, b));
    audience.learnConversation(direct('d2', a, c));
    const { forgotten } = audience.learnConversation(direct('d1', a));
    expect(forgotten).toEqual([
      { viewer: b, peer: a },
      { viewer: a, peer: b },
    ]);
    expect([viewers(a), viewers(b), viewers(c)]).toEqual([[], [], [a]]);
  });

  test('what Redis kept from earlier days ends with a whole sync that does not name it; what events told stays', () => {
    audience.recall(a, [b, c]);
    audience.learnConversation(direct('d9', a, d));
    expect(audience.learnSynced(a, [syncedDirect('d1', b)], false).forgotten).toEqual([]);
    expect(audience.learnSynced(a, [syncedDirect('d1', b)], true).forgotten).toEqual([{ viewer: a, peer: c }]);
    expect(peers(a)).toEqual([b, d]);
  });

  test('a user has a bounded number of peers', () => {
    const many = Array.from({ length: 500 }, (_, i) => syncedDirect(`d${i}`, user(`p${i}`)));
    audience.learnSynced(a, many, false);
    expect(audience.peerCount(a)).toBe(100);
  });
});

describe('all', () => {
  beforeEach(() => {
    audience = new Audience({ audience: 'all', maxPeers: 100, lessonPairs: 1000 });
    audience.join(a);
    audience.join(b);
  });

  test('whoever shares a conversation is seen', () => {
    audience.learnConversation(group('g1', a, b, c));
    expect([viewers(a), viewers(b), viewers(c)]).toEqual([[b], [a], [a, b]]);
  });

  test('who left the group is not seen through it any more, and does not see', () => {
    audience.learnConversation(group('g1', a, b, c));
    audience.learnConversation(group('g1', a, c));
    expect([viewers(a), viewers(b), viewers(c)]).toEqual([[], [], [a]]);
  });

  test('a sync proves nobody’s absence: it does not name the members of groups', () => {
    audience.recall(a, [c]);
    audience.learnSynced(a, [], true);
    expect(peers(a)).toEqual([c]);
  });
});

describe('news', () => {
  test('repeats and what is older than the last are none', () => {
    audience.learnConversation(direct('d1', a, c));
    const says = (status: 'online' | 'offline', atMs: number): boolean => audience.isNews({ userId: c, status, atMs });
    expect(says('online', 100)).toBe(true);
    expect(says('online', 100)).toBe(false);
    expect(says('offline', 99)).toBe(false);
    // Two transitions of one millisecond are two transitions.
    expect(says('offline', 100)).toBe(true);
    expect(says('online', 101)).toBe(true);
  });

  test('of somebody whom nobody here may see there are none', () => {
    expect(audience.isNews({ userId: c, status: 'online', atMs: 1 })).toBe(false);
  });
});

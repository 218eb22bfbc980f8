import type { ConversationId, UserId } from '@event-gateway/protocol';
import type { Lesson, PeerChange } from './lesson.js';

/** What is kept of who sees whom, as far as groups change it. */
export interface PeerBook {
  isHere(userId: UserId): boolean;
  /** Returns whether the pair is new. */
  add(viewer: UserId, peer: UserId, through: ConversationId): boolean;
  /** Takes out all pairs that the user is in through this conversation; returns them. */
  dropThrough(userId: UserId, through: ConversationId): PeerChange[];
}

interface Changes {
  readonly learned: PeerChange[];
  readonly forgotten: PeerChange[];
}

interface Group {
  readonly conversationId: ConversationId;
  members: readonly UserId[];
  /** Members who are here → whether they have been shown all members since they came or last lost a peer. */
  readonly viewers: Map<UserId, boolean>;
  /** Who is in it no more, and may still see or be seen through it. */
  readonly leaving: Set<UserId>;
  /** Viewers who are to be shown all members. */
  readonly waiting: Set<UserId>;
  /** Members whom the viewers are yet to be shown. */
  readonly added: Set<UserId>;
}

/**
 * Who sees whom through groups: as many pairs as members here × members, so that one card may mean millions. What a card changes is
 * noted at once, at the cost of its length, and done in slices; a card that changes nothing leaves nothing to do. Each step goes by the
 * members as they are when it is taken, so it does not matter what happened since it was noted.
 *
 * Groups are kept while a member of theirs is here: without the members of before, nobody could say who left.
 */
export class GroupLessons {
  readonly #book: PeerBook;
  readonly #groups = new Map<ConversationId, Group>();
  /** By user who is here. */
  readonly #groupsOf = new Map<UserId, Set<Group>>();
  /** Those with something left to do. */
  readonly #queue = new Set<Group>();

  constructor(book: PeerBook) {
    this.#book = book;
  }

  get isBehind(): boolean {
    return this.#queue.size > 0;
  }

  has(conversationId: ConversationId): boolean {
    return this.#groups.has(conversationId);
  }

  /** Notes what the members of a group, as they are now, change. */
  note(conversationId: ConversationId, members: ReadonlySet<UserId>): void {
    const known = this.#groups.get(conversationId);
    const group = known ?? newGroup(conversationId);
    if (known !== undefined) noteChanges(known, members);
    group.members = [...members];
    for (const member of members) {
      if (!this.#book.isHere(member) || group.viewers.get(member) === true) continue;
      group.viewers.set(member, false);
      group.waiting.add(member);
      this.#groupsOf.set(member, (this.#groupsOf.get(member) ?? new Set()).add(group));
    }
    if (group.viewers.size === 0) return;
    this.#groups.set(conversationId, group);
    if (hasWork(group)) this.#queue.add(group);
  }

  /** Takes steps until about so many pairs have been looked at, and at least one. */
  study(maxPairs: number): Lesson {
    const lesson: Changes = { learned: [], forgotten: [] };
    let left = maxPairs;
    for (const group of this.#queue) {
      while (left > 0 && hasWork(group)) left -= this.#step(group, lesson);
      // To the end if there is more: a small group need not wait until a big one is through.
      this.#queue.delete(group);
      if (hasWork(group)) this.#queue.add(group);
      if (left <= 0) break;
    }
    return lesson;
  }

  leave(userId: UserId): void {
    for (const group of this.#groupsOf.get(userId) ?? []) this.#withdraw(group, userId);
    this.#groupsOf.delete(userId);
  }

  /** These lost peers whom they may share other groups with: the next cards of those groups show them again. */
  unsettle(forgotten: readonly PeerChange[], through?: ConversationId): void {
    for (const viewer of new Set(forgotten.map((change) => change.viewer))) {
      for (const { conversationId, viewers } of this.#groupsOf.get(viewer) ?? []) {
        if (conversationId !== through) viewers.set(viewer, false);
      }
    }
  }

  /** Returns how many pairs it has looked at. Who left goes first: whoever is shown after that is shown to members only. */
  #step(group: Group, { learned, forgotten }: Changes): number {
    const { conversationId, viewers, members } = group;
    const gone = takeFirst(group.leaving);
    if (gone !== undefined) {
      const pairs = viewers.size + members.length;
      const dropped = this.#book.dropThrough(gone, conversationId);
      this.unsettle(dropped, conversationId);
      for (const change of dropped) forgotten.push(change);
      this.#withdraw(group, gone);
      return pairs;
    }
    const viewer = takeFirst(group.waiting);
    if (viewer !== undefined) {
      for (const peer of members) if (this.#book.add(viewer, peer, conversationId)) learned.push({ viewer, peer });
      viewers.set(viewer, true);
      return members.length;
    }
    const peer = takeFirst(group.added);
    if (peer === undefined) return 0;
    for (const each of viewers.keys()) if (this.#book.add(each, peer, conversationId)) learned.push({ viewer: each, peer });
    return viewers.size;
  }

  #withdraw(group: Group, userId: UserId): void {
    this.#groupsOf.get(userId)?.delete(group);
    group.viewers.delete(userId);
    group.waiting.delete(userId);
    if (group.viewers.size > 0) return;
    this.#groups.delete(group.conversationId);
    this.#queue.delete(group);
    group.leaving.clear();
    group.added.clear();
  }
}

function newGroup(conversationId: ConversationId): Group {
  return { conversationId, members: [], viewers: new Map(), leaving: new Set(), waiting: new Set(), added: new Set() };
}

/** Who was a member and is none, and the reverse. */
function noteChanges(group: Group, members: ReadonlySet<UserId>): void {
  const before = new Set(group.members);
  for (const member of before) {
    if (members.has(member)) continue;
    group.leaving.add(member);
    group.added.delete(member);
  }
  for (const member of members) {
    if (before.has(member)) continue;
    group.leaving.delete(member);
    group.added.add(member);
  }
}

function hasWork({ leaving, waiting, added }: Group): boolean {
  return leaving.size > 0 || waiting.size > 0 || added.size > 0;
}

function takeFirst(users: Set<UserId>): UserId | undefined {
  for (const userId of users) {
    users.delete(userId);
    return userId;
  }
  return undefined;
}

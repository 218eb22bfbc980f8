import type { ConversationCard, ConversationId, PresenceMessage, SyncConversation, UserId } from '@event-gateway/protocol';
import { GroupLessons } from './group-lessons.js';
import type { Lesson, PeerChange } from './lesson.js';

/** `direct`: users with a common direct dialog see each other; `all`: everybody who shares a conversation does. */
export type AudienceKind = 'direct' | 'all';

export interface AudienceOptions {
  readonly audience: AudienceKind;
  /** Most peers of one user; whoever comes after them is not shown to that user. */
  readonly maxPeers: number;
  /** Pairs of group members that one card, or one `learnMore`, looks at; the last step is not split, and may take a group's length more. */
  readonly lessonPairs: number;
}

/** Through which conversation a peer is known; undefined when that was learned elsewhere (kept in Redis by another replica). */
type Peers = Map<UserId, ConversationId | undefined>;

/** Somebody whom users of this replica may see. */
interface Observed {
  readonly viewers: Set<UserId>;
  atMs: number;
  status: PresenceMessage['status'] | undefined;
}

const nobody: ReadonlySet<UserId> = new Set();

/**
 * Who may see whom, as far as it concerns the users who are here; nothing is kept for others. Learned from what the messenger says
 * (syncs, cards) and from what it said to another replica earlier; never from a client.
 */
export class Audience {
  readonly #options: AudienceOptions;
  /** User who is here → whom he may see; no map until there is somebody. */
  readonly #peers = new Map<UserId, Peers | undefined>();
  readonly #observed = new Map<UserId, Observed>();
  readonly #groups: GroupLessons;

  constructor(options: AudienceOptions) {
    this.#options = options;
    this.#groups = new GroupLessons({
      isHere: (userId) => this.isHere(userId),
      add: (viewer, peer, through) => this.#add(viewer, peer, through),
      dropThrough: (userId, through) => this.#forgetStrangers(userId, through, nobody),
    });
  }

  join(userId: UserId): void {
    if (!this.#peers.has(userId)) this.#peers.set(userId, undefined);
  }

  leave(userId: UserId): void {
    const peers = this.#peers.get(userId);
    this.#peers.delete(userId);
    this.#groups.leave(userId);
    if (peers !== undefined) for (const peer of peers.keys()) this.#unobserve(userId, peer);
  }

  isHere(userId: UserId): boolean {
    return this.#peers.has(userId);
  }

  /** Everybody who is here. */
  users(): Iterable<UserId> {
    return this.#peers.keys();
  }

  peersOf(userId: UserId): Iterable<UserId> {
    return this.#peers.get(userId)?.keys() ?? [];
  }

  peerCount(userId: UserId): number {
    return this.#peers.get(userId)?.size ?? 0;
  }

  /** Users of this replica who may see `peer`. */
  viewersOf(peer: UserId): ReadonlySet<UserId> {
    return this.#observed.get(peer)?.viewers ?? nobody;
  }

  /** Whether the message says something new about its user; repeats and what is older than the last one do not. */
  isNews(message: PresenceMessage): boolean {
    const observed = this.#observed.get(message.userId);
    if (observed === undefined) return false;
    const isOld = message.atMs < observed.atMs || (message.atMs === observed.atMs && message.status === observed.status);
    if (isOld) return false;
    observed.atMs = message.atMs;
    observed.status = message.status;
    return true;
  }

  /** Notes what Redis kept for a user. */
  recall(userId: UserId, peers: Iterable<UserId>): void {
    for (const peer of peers) this.#add(userId, peer, undefined);
  }

  /**
   * Learns from the messenger's answer to a user's sync. `isWhole`: the list holds all dialogs of the user, so what Redis kept from
   * earlier days and the list does not have is over.
   */
  learnSynced(userId: UserId, conversations: readonly SyncConversation[], isWhole: boolean): Lesson {
    if (!this.isHere(userId)) return { learned: [], forgotten: [] };
    const learned: PeerChange[] = [];
    for (const { type, peerId, conversationId } of conversations) {
      if (type !== 'direct' || peerId === undefined) continue;
      if (this.#add(userId, peerId, conversationId)) learned.push({ viewer: userId, peer: peerId });
    }
    // With `all`, a sync does not name the members of groups: it proves nobody's absence.
    const forgotten = isWhole && this.#options.audience === 'direct' ? this.#dropUnconfirmed(userId) : [];
    return { learned, forgotten };
  }

  /**
   * Learns from a conversation card: who shares it, and who does not any more. Of a big group only a beginning: while `isBehind`, the
   * rest is to be learned with `learnMore`.
   */
  learnConversation({ conversationId, type, participants }: ConversationCard): Lesson {
    const isForAll = this.#options.audience === 'all';
    if (type === 'group' && !isForAll) return { learned: [], forgotten: [] };
    const members = new Set(participants);
    const isPair = type === 'direct' && members.size <= 2 && !this.#groups.has(conversationId);
    if (!isForAll || isPair) return this.#learnDirect(conversationId, members);
    const hasTurn = !this.isBehind;
    this.#groups.note(conversationId, members);
    return hasTurn ? this.learnMore() : { learned: [], forgotten: [] };
  }

  /** Something of groups is yet to be learned. */
  get isBehind(): boolean {
    return this.#groups.isBehind;
  }

  learnMore(): Lesson {
    return this.#groups.study(this.#options.lessonPairs);
  }

  #learnDirect(conversationId: ConversationId, members: ReadonlySet<UserId>): Lesson {
    const learned: PeerChange[] = [];
    const forgotten = [...members].flatMap((member) => this.#forgetStrangers(member, conversationId, members));
    this.#groups.unsettle(forgotten);
    if (members.size !== 2) return { learned, forgotten };
    for (const member of members) {
      for (const peer of members) if (this.#add(member, peer, conversationId)) learned.push({ viewer: member, peer });
    }
    return { learned, forgotten };
  }

  /** Whoever saw the user, or was seen by him, through this conversation alone, and is not in it any more. */
  #forgetStrangers(userId: UserId, conversationId: ConversationId, members: ReadonlySet<UserId>): PeerChange[] {
    const forgotten: PeerChange[] = [];
    for (const viewer of this.viewersOf(userId)) {
      if (this.#peers.get(viewer)?.get(userId) !== conversationId || members.has(viewer)) continue;
      this.#remove(viewer, userId);
      forgotten.push({ viewer, peer: userId });
    }
    for (const [peer, through] of this.#peers.get(userId) ?? []) {
      if (through !== conversationId || members.has(peer)) continue;
      this.#remove(userId, peer);
      forgotten.push({ viewer: userId, peer });
    }
    return forgotten;
  }

  #dropUnconfirmed(userId: UserId): PeerChange[] {
    const forgotten: PeerChange[] = [];
    for (const [peer, through] of this.#peers.get(userId) ?? []) {
      if (through !== undefined) continue;
      this.#remove(userId, peer);
      forgotten.push({ viewer: userId, peer });
    }
    return forgotten;
  }

  /** Returns whether the pair is new. */
  #add(viewer: UserId, peer: UserId, through: ConversationId | undefined): boolean {
    // Never to the user's own devices.
    if (viewer === peer || !this.#peers.has(viewer)) return false;
    const peers = this.#peers.get(viewer) ?? new Map<UserId, ConversationId | undefined>();
    if (peers.has(peer)) {
      if (through !== undefined) peers.set(peer, through);
      return false;
    }
    if (peers.size >= this.#options.maxPeers) return false;
    peers.set(peer, through);
    this.#peers.set(viewer, peers);
    const observed = this.#observed.get(peer);
    if (observed === undefined) this.#observed.set(peer, { viewers: new Set([viewer]), atMs: 0, status: undefined });
    else observed.viewers.add(viewer);
    return true;
  }

  #remove(viewer: UserId, peer: UserId): void {
    this.#peers.get(viewer)?.delete(peer);
    this.#unobserve(viewer, peer);
  }

  #unobserve(viewer: UserId, peer: UserId): void {
    const observed = this.#observed.get(peer);
    if (observed === undefined) return;
    observed.viewers.delete(viewer);
    if (observed.viewers.size === 0) this.#observed.delete(peer);
  }
}

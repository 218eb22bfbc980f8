import type { ConversationCard, ConversationId, PresenceMessage, SyncConversation, UserId } from '@event-gateway/protocol';

/** `direct`: users with a common direct dialog see each other; `all`: everybody who shares a conversation does. */
export type AudienceKind = 'direct' | 'all';

export interface AudienceOptions {
  readonly audience: AudienceKind;
  /** Most peers of one user; whoever comes after them is not shown to that user. */
  readonly maxPeers: number;
}

/** A pair that became, or ceased to be, visible: `viewer` is here, `peer` may be anywhere. */
export interface PeerChange {
  readonly viewer: UserId;
  readonly peer: UserId;
}

/** What changed by something that was learned. */
export interface Lesson {
  readonly learned: readonly PeerChange[];
  readonly forgotten: readonly PeerChange[];
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

  constructor(options: AudienceOptions) {
    this.#options = options;
  }

  join(userId: UserId): void {
    if (!this.#peers.has(userId)) this.#peers.set(userId, undefined);
  }

  leave(userId: UserId): void {
    const peers = this.#peers.get(userId);
    this.#peers.delete(userId);
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

  /** Learns from a conversation card: who shares it, and who does not any more. */
  learnConversation({ conversationId, type, participants }: ConversationCard): Lesson {
    const learned: PeerChange[] = [];
    const forgotten: PeerChange[] = [];
    const isForAll = this.#options.audience === 'all';
    if (type === 'group' && !isForAll) return { learned, forgotten };
    const members = new Set(participants);
    const isShared = isForAll || members.size === 2;
    for (const member of members) {
      this.#forgetStrangers(member, conversationId, members, forgotten);
      if (!isShared || !this.isHere(member)) continue;
      for (const peer of members) if (this.#add(member, peer, conversationId)) learned.push({ viewer: member, peer });
    }
    return { learned, forgotten };
  }

  /** Whoever saw the member, or was seen by him, through this conversation alone, and is not in it any more. */
  #forgetStrangers(member: UserId, conversationId: ConversationId, members: ReadonlySet<UserId>, forgotten: PeerChange[]): void {
    for (const viewer of this.viewersOf(member)) {
      if (this.#peers.get(viewer)?.get(member) !== conversationId || members.has(viewer)) continue;
      this.#remove(viewer, member);
      forgotten.push({ viewer, peer: member });
    }
    for (const [peer, through] of this.#peers.get(member) ?? []) {
      if (through !== conversationId || members.has(peer)) continue;
      this.#remove(member, peer);
      forgotten.push({ viewer: member, peer });
    }
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

import type { ConversationId, SyncConversation, UserId } from '@event-gateway/protocol';
import { type FrameConversationCard, type FrameUserCard, type LoadableCards, peerOf } from '../frames/frame-cards.js';

/** Of a dialog that is titled after the other one. */
const noHeader = new Uint8Array();

/**
 * The cards for one sync's frames: conversations are titled as the messenger has just titled them, so that they need no card
 * of their own. What a sync says lives as long as the sync: it lacks participants, so it would be a worse card for everybody else.
 */
export class SyncedTitles implements LoadableCards {
  readonly #cards: LoadableCards;
  readonly #viewer: UserId;
  readonly #conversations = new Map<ConversationId, SyncConversation>();
  readonly #headers = new Map<ConversationId, FrameConversationCard>();

  constructor(cards: LoadableCards, viewer: UserId) {
    this.#cards = cards;
    this.#viewer = viewer;
  }

  /** Every dialog that the messenger has named, as it named it first. */
  get conversations(): Iterable<SyncConversation> {
    return this.#conversations.values();
  }

  learn(conversations: readonly SyncConversation[]): void {
    for (const conversation of conversations) {
      const { conversationId } = conversation;
      if (!this.#conversations.has(conversationId)) this.#conversations.set(conversationId, conversation);
    }
  }

  user(id: UserId): FrameUserCard | 'absent' | 'missing' {
    return this.#cards.user(id);
  }

  conversation(id: ConversationId): FrameConversationCard | 'absent' | 'missing' {
    const given = this.#conversations.get(id);
    if (given === undefined) return this.#cards.conversation(id);
    const { type, title, peerId } = given;
    if (needsCard(given)) {
      const card = this.#cards.conversation(id);
      if (title === undefined ? card !== 'absent' : typeof card === 'object' && this.#isTitled(card)) return card;
    }
    // Titled after the other one, as it is live; what the messenger calls it helps out when that card is not to be had.
    if (type === 'direct' && peerId !== undefined && (title === undefined || typeof this.#cards.user(peerId) === 'object')) {
      return { type, participants: [this.#viewer, peerId], header: noHeader };
    }
    return this.#titled(given);
  }

  deadline(): number {
    return this.#cards.deadline();
  }

  /** Of a dialog that the messenger has named in full only the other one's card is wanted. */
  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>, untilMs?: number): Promise<void> | undefined {
    const wanted = new Set(users);
    const unnamed: ConversationId[] = [];
    for (const id of conversations) {
      const given = this.#conversations.get(id);
      if (given === undefined || needsCard(given)) unnamed.push(id);
      else if (given.type === 'direct' && given.peerId !== undefined) wanted.add(given.peerId);
    }
    return this.#cards.warm(wanted, unnamed, untilMs);
  }

  /** Whether the viewer can be shown the card's title: a direct dialog's is the other one's name. */
  #isTitled(card: FrameConversationCard): boolean {
    const peer = peerOf(card, this.#viewer);
    return peer === undefined || typeof this.#cards.user(peer) === 'object';
  }

  #titled({ conversationId, type, title }: SyncConversation): FrameConversationCard {
    const known = this.#headers.get(conversationId);
    if (known !== undefined) return known;
    const card = this.#cards.conversation(conversationId);
    const header = { ...(typeof card === 'object' ? headerOf(card) : {}), type, ...(title === undefined ? {} : { title }) };
    const titled = { type, participants: [], header: Buffer.from(JSON.stringify(header)) };
    this.#headers.set(conversationId, titled);
    return titled;
  }
}

/** The messenger may leave out what titles a dialog: the name of a group, who the other one is. */
function needsCard({ type, title, peerId }: SyncConversation): boolean {
  return type === 'direct' ? peerId === undefined : title === undefined;
}

/** What a card that happens to be there adds to a title: the picture. */
function headerOf({ header }: FrameConversationCard): object {
  const fields: unknown = JSON.parse(Buffer.from(header).toString());
  return typeof fields === 'object' && fields !== null ? fields : {};
}

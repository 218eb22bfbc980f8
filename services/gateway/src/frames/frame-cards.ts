import type { ConversationId, ConversationType, UserId } from '@event-gateway/protocol';

/** What a frame needs of a user card. */
export interface FrameUserCard {
  /** JSON bytes of the name and what follows it: `"Alice"` or `"Alice","avatar_url":"…"`. */
  readonly named: Uint8Array;
}

/** What a frame needs of a conversation card. */
export interface FrameConversationCard {
  readonly type: ConversationType;
  readonly participants: readonly UserId[];
  /** JSON bytes of the card's own header: `{"type":"group","title":"Team"}`. */
  readonly header: Uint8Array;
}

/** Where frames find cards. `absent`: there is none; `missing`: not known by a fault. */
export interface FrameCards {
  user(id: UserId): FrameUserCard | 'absent' | 'missing';
  conversation(id: ConversationId): FrameConversationCard | 'absent' | 'missing';
}

/** Cards that can be loaded before frames are built. */
export interface LoadableCards extends FrameCards {
  /** Monotonic ms until which a warm-up that begins now may wait. */
  deadline(): number;
  /** Undefined when there is nothing to wait for; never rejects and ends at the latest at `untilMs`. */
  warm(users: Iterable<UserId>, conversations: Iterable<ConversationId>, untilMs?: number): Promise<void> | undefined;
}

/** Whose name is the title of a direct dialog for this viewer: the other one's. Undefined when the card's own title is shown. */
export function peerOf(card: FrameConversationCard, viewer: UserId): UserId | undefined {
  if (card.type !== 'direct' || !card.participants.includes(viewer)) return undefined;
  return card.participants.find((participant) => participant !== viewer);
}

import { type ConversationId, DEFINED_EVENT_TYPES, type Envelope, isMessageType, type UserId } from '@event-gateway/protocol';
import { type FrameConversationCard, type LoadableCards, peerOf } from './frame-cards.js';

/** An event and the users whose connections here will get it. */
export interface EventForViewers {
  readonly envelope: Envelope;
  readonly viewers: Iterable<UserId>;
}

/**
 * Has the cards of these events loaded before their frames are built, in one warm-up with one deadline. Undefined when all are
 * hot (or not to be waited for): then the caller need not await.
 */
export function enrich(events: readonly EventForViewers[], cards: LoadableCards): Promise<void> | undefined {
  const users = new Set<UserId>();
  const conversations = new Set<ConversationId>();
  const cold: EventForViewers[] = [];
  for (const event of events) {
    const { envelope } = event;
    if (envelope.senderId !== undefined && isMessageType(envelope.type)) users.add(envelope.senderId);
    if (envelope.conversationId === undefined || !DEFINED_EVENT_TYPES.has(envelope.type)) continue;
    conversations.add(envelope.conversationId);
    const card = cards.conversation(envelope.conversationId);
    // "Absent" may have had its time: whether it is asked for again is judged by the warm-up.
    if (typeof card === 'object') addPeers(card, event.viewers, users);
    else cold.push(event);
  }
  const untilMs = cards.deadline();
  const loading = load(users, conversations, cold, cards, untilMs);
  return loading?.then(() => reload(users, conversations, cards, untilMs));
}

function load(
  users: ReadonlySet<UserId>,
  conversations: ReadonlySet<ConversationId>,
  cold: readonly EventForViewers[],
  cards: LoadableCards,
  untilMs: number,
): Promise<unknown> | undefined {
  if (cold.length === 0) return cards.warm(users, conversations, untilMs);
  const senders = cards.warm(users, [], untilMs);
  const opening = cards.warm([], conversations, untilMs);
  return opening === undefined ? senders : Promise.all([senders, warmPeers(opening, cold, cards, untilMs)]);
}

/** While some cards were waited for, others that were there may have been invalidated: those are not left "…" for it. */
function reload(
  users: ReadonlySet<UserId>,
  conversations: ReadonlySet<ConversationId>,
  cards: LoadableCards,
  untilMs: number,
): Promise<void> | undefined {
  const lostUsers = [...users].filter((id) => cards.user(id) === 'missing');
  const lostConversations = [...conversations].filter((id) => cards.conversation(id) === 'missing');
  if (lostUsers.length === 0 && lostConversations.length === 0) return undefined;
  return cards.warm(lostUsers, lostConversations, untilMs);
}

/** A direct dialog's title is its other participant's name, so whose card that is, is known only when its own has come. */
async function warmPeers(opening: Promise<void>, cold: readonly EventForViewers[], cards: LoadableCards, untilMs: number): Promise<void> {
  await opening;
  const peers = new Set<UserId>();
  for (const { envelope, viewers } of cold) {
    const card = envelope.conversationId === undefined ? 'missing' : cards.conversation(envelope.conversationId);
    if (typeof card === 'object') addPeers(card, viewers, peers);
  }
  await cards.warm(peers, [], untilMs);
}

function addPeers(card: FrameConversationCard, viewers: Iterable<UserId>, users: Set<UserId>): void {
  if (card.type !== 'direct') return;
  for (const viewer of viewers) {
    const peer = peerOf(card, viewer);
    if (peer !== undefined) users.add(peer);
  }
}

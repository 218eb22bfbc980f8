import { DEFINED_EVENT_TYPES, type Envelope, isMessageType, type UserId } from '@event-gateway/protocol';
import { appendMessage } from './append-message.js';
import { type FrameCards, type FrameConversationCard, type FrameUserCard, peerOf } from './frame-cards.js';

const open = Buffer.from('{"type":');
const cursorKey = Buffer.from(',"cursor":"');
const quote = Buffer.from('"');
const conversationIdKey = Buffer.from(',"conversation_id":');
const eventIdKey = Buffer.from(',"event_id":');
const occurredAtKey = Buffer.from(',"occurred_at":');
const messageKey = Buffer.from(',"message":');
const dataKey = Buffer.from(',"data":');
const conversationKey = Buffer.from(',"conversation":');
const directTitleKey = Buffer.from(',"conversation":{"type":"direct","title":');
const stale = Buffer.from(',"stale":true');
const close = Buffer.from('}');

/** Shown where a name is not known. */
const unknownName = Buffer.from('"…"');
/** A conversation whose card is missing by a fault: not even its type is known. */
const unknownHeader = Buffer.from('{"title":"…"}');

/**
 * The frames of one event, each variant built once: one for everybody, except in a direct dialog, where each participant sees
 * the other one's name as the title. Cards are looked up at the first use, so they must have been loaded by then.
 *
 * A frame is spliced from the envelope's own bytes and encoded card fragments. That is what keeps every digit and every key of
 * the payload as published, and it costs 0.5 µs for 300 bytes where parsing and stringifying costs 4.5.
 */
export class EventFrames {
  readonly #envelope: Envelope;
  readonly #cursor: string | null;
  readonly #cards: FrameCards;
  /** Undefined until the first frame; `none` when this event has no conversation to speak of. */
  #conversation: FrameConversationCard | 'absent' | 'missing' | 'none' | undefined;
  #common: Uint8Array | undefined;
  #perPeer: Map<UserId, Uint8Array> | undefined;

  /** `cursor` is the event's stream id; null for frames that have no place in the stream. */
  constructor(envelope: Envelope, cursor: string | null, cards: FrameCards) {
    this.#envelope = envelope;
    this.#cursor = cursor;
    this.#cards = cards;
  }

  /** The frame's bytes for this viewer. They are shared, so never to be written to. */
  for(viewer: UserId): Uint8Array {
    this.#conversation ??= conversationOf(this.#envelope, this.#cards);
    const peer = typeof this.#conversation === 'object' ? peerOf(this.#conversation, viewer) : undefined;
    if (peer === undefined) return (this.#common ??= this.#build(undefined));
    this.#perPeer ??= new Map();
    const built = this.#perPeer.get(peer);
    if (built !== undefined) return built;
    const frame = this.#build(this.#cards.user(peer));
    this.#perPeer.set(peer, frame);
    return frame;
  }

  /** With `peer`, the conversation is a direct dialog titled after that user. */
  #build(peer: FrameUserCard | 'absent' | 'missing' | undefined): Uint8Array {
    const { typeRaw, conversationIdRaw, eventIdRaw, occurredAtRaw } = this.#envelope;
    const pieces: Uint8Array[] = [open, typeRaw];
    if (this.#cursor !== null) pieces.push(cursorKey, Buffer.from(this.#cursor, 'latin1'), quote);
    if (conversationIdRaw !== undefined) pieces.push(conversationIdKey, conversationIdRaw);
    if (eventIdRaw !== undefined) pieces.push(eventIdKey, eventIdRaw);
    if (occurredAtRaw !== undefined) pieces.push(occurredAtKey, occurredAtRaw);
    const isSenderKnown = this.#appendPayload(pieces);
    const isTitleKnown = this.#appendConversation(pieces, peer);
    if (!isSenderKnown || !isTitleKnown) pieces.push(stale);
    pieces.push(close);
    return concat(pieces);
  }

  /** False when a card is missing by a fault. */
  #appendPayload(pieces: Uint8Array[]): boolean {
    const { type, payload, payloadMembers, senderId } = this.#envelope;
    if (payloadMembers === undefined || !isMessageType(type)) {
      pieces.push(dataKey, payload);
      return true;
    }
    const sender = senderId === undefined ? 'absent' : this.#cards.user(senderId);
    pieces.push(messageKey);
    appendMessage(pieces, payload, payloadMembers, nameOf(sender));
    return sender !== 'missing';
  }

  /** False when a card is missing by a fault. */
  #appendConversation(pieces: Uint8Array[], peer: FrameUserCard | 'absent' | 'missing' | undefined): boolean {
    if (peer !== undefined) {
      pieces.push(directTitleKey, nameOf(peer), close);
      return peer !== 'missing';
    }
    if (this.#conversation === 'missing') pieces.push(conversationKey, unknownHeader);
    else if (typeof this.#conversation === 'object') pieces.push(conversationKey, this.#conversation.header);
    return this.#conversation !== 'missing';
  }
}

function conversationOf(envelope: Envelope, cards: FrameCards): FrameConversationCard | 'absent' | 'missing' | 'none' {
  if (envelope.conversationId === undefined || !DEFINED_EVENT_TYPES.has(envelope.type)) return 'none';
  return cards.conversation(envelope.conversationId);
}

function nameOf(card: FrameUserCard | 'absent' | 'missing'): Uint8Array {
  return typeof card === 'object' ? card.named : unknownName;
}

/** `Buffer.concat` without its checks of every piece. */
function concat(pieces: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

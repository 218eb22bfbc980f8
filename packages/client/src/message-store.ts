import type { ClientEvents, ClientListener } from './client-events.js';
import type { DurableFrame, Message, MessageFrame } from './frames.js';

/** A message as it reads now. */
export interface StoredMessage {
  readonly message: Message;
  readonly isEdited: boolean;
  readonly isDeleted: boolean;
}

/** One for all: whoever compares by identity would take a new one each time for a change. */
const NONE: readonly StoredMessage[] = Object.freeze([]);

/** What a store listens to: a `GatewayClient`. */
export interface MessageSource {
  on<Type extends keyof ClientEvents>(type: Type, listener: ClientListener<Type>): () => void;
}

/**
 * The latest messages of each conversation, in seq order, with edits and deletions applied. Optional: for applications without a
 * store of their own.
 */
export class MessageStore {
  readonly #maxPerConversation: number;
  readonly #conversations = new Map<string, readonly StoredMessage[]>();

  constructor(source: MessageSource, maxPerConversation = 500) {
    this.#maxPerConversation = maxPerConversation;
    source.on('message', (frame) => this.#add(frame));
    source.on('message.edited', (frame) => this.#change(frame, ({ message }) => edited(message, frame.message)));
    source.on('message.deleted', (frame) => this.#change(frame, (stored) => ({ ...stored, isDeleted: true })));
  }

  /** In seq order; the same array until something changes. */
  of(conversationId: string): readonly StoredMessage[] {
    return this.#conversations.get(conversationId) ?? NONE;
  }

  #add({ conversation_id: conversationId, message }: MessageFrame): void {
    if (conversationId === undefined) return;
    const messages = this.of(conversationId);
    // It belongs at the end, unless it came late.
    const later = messages.toReversed().findIndex((stored) => (stored.message.seq ?? 0) <= (message.seq ?? Number.MAX_SAFE_INTEGER));
    const at = later < 0 ? 0 : messages.length - later;
    // Older than everything that is kept, and there is no room.
    if (at === 0 && messages.length >= this.#maxPerConversation) return;
    const next = messages.toSpliced(at, 0, { message, isEdited: false, isDeleted: false });
    this.#conversations.set(conversationId, next.slice(-this.#maxPerConversation));
  }

  #change({ conversation_id: conversationId, message }: DurableFrame, change: (stored: StoredMessage) => StoredMessage): void {
    if (conversationId === undefined) return;
    const messages = this.of(conversationId);
    // A deletion is final: an edit that a sync repeats after it changes nothing.
    const at = messages.findIndex((stored) => stored.message.id === message?.id && !stored.isDeleted);
    const stored = messages[at];
    if (stored !== undefined) this.#conversations.set(conversationId, messages.with(at, change(stored)));
  }
}

/** An edit may bring the whole message or only what changed; its place stays. */
function edited(before: Message, after: Message): StoredMessage {
  return { message: { ...before, ...after, ...(before.seq === undefined ? {} : { seq: before.seq }) }, isEdited: true, isDeleted: false };
}

import { randomUUID } from 'node:crypto';
import {
  encodeConversationInvalidation,
  encodeEvent,
  encodeMembershipInvalidation,
  encodeUserInvalidation,
  type Outgoing,
} from '@event-gateway/publisher';
import type { ChangeStore } from '../store/change-store.js';
import type { Message } from '../store/message-store.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { User } from '../store/user-store.js';
import { messagePayload } from './payloads.js';

export interface HappenedEvent {
  readonly type: string;
  readonly conversationId?: string;
  readonly recipients: readonly string[];
  readonly payload: object;
  readonly atMs: number;
}

export interface HappenedChange extends HappenedEvent {
  readonly conversationId: string;
  /** What it is the newest state of. */
  readonly subject: readonly string[];
  readonly aboutSeq?: number;
  readonly aboutUserId?: string;
}

/**
 * Writes down what happened, for the bus (outbox) and for clients that will have missed it (changes). Called inside the transaction of
 * what it records; it throws, and so undoes the whole, for an event that the bus would refuse.
 */
export class EventRecorder {
  readonly #outbox: OutboxStore;
  readonly #changes: ChangeStore;

  constructor(outbox: OutboxStore, changes: ChangeStore) {
    this.#outbox = outbox;
    this.#changes = changes;
  }

  /** A message is kept with its conversation, so only the bus is told. */
  messagePosted(message: Message, recipients: readonly string[]): void {
    const { conversationId, eventId, sentAtMs } = message;
    this.#tell(eventId, { type: 'message.new', conversationId, recipients, payload: messagePayload(message), atMs: sentAtMs });
  }

  /** Something that a sync would show anyway (a new conversation), or that concerns none. */
  happened(event: HappenedEvent): void {
    this.#tell(randomUUID(), event);
  }

  changed(change: HappenedChange): void {
    const eventId = randomUUID();
    this.#changes.record({
      subject: subjectOf(change.subject),
      eventId,
      type: change.type,
      conversationId: change.conversationId,
      aboutSeq: change.aboutSeq,
      aboutUserId: change.aboutUserId,
      payload: JSON.stringify(change.payload),
      occurredAtMs: change.atMs,
    });
    this.#tell(eventId, change);
  }

  /** What was recorded about a subject must not be shown to anyone any more. */
  forget(subject: readonly string[]): void {
    this.#changes.forget(subjectOf(subject));
  }

  userChanged({ userId, displayName, avatarUrl, status }: User): void {
    this.#add(encodeUserInvalidation(userId, { displayName, avatarUrl, status }));
  }

  conversationChanged(conversationId: string): void {
    this.#add(encodeConversationInvalidation(conversationId));
  }

  membershipChanged(conversationId: string): void {
    this.#add(encodeMembershipInvalidation(conversationId));
  }

  #tell(eventId: string, { type, conversationId, recipients, payload, atMs }: HappenedEvent): void {
    this.#add(encodeEvent({ type, eventId, conversationId, recipients, payload, occurredAt: new Date(atMs) }));
  }

  #add(outgoing: Outgoing): void {
    this.#outbox.add(JSON.stringify(outgoing));
  }
}

/** JSON, because ids may contain any separator. */
function subjectOf(parts: readonly string[]): string {
  return JSON.stringify(parts);
}

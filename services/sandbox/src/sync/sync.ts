import { randomUUID } from 'node:crypto';
import type { Clock } from '@event-gateway/runtime';
import { isoTime, messagePayload } from '../messenger/payloads.js';
import { Refusal } from '../refusal.js';
import type { ChangeStore, RecordedChange } from '../store/change-store.js';
import type { ConversationStore } from '../store/conversation-store.js';
import type { Message, MessageStore } from '../store/message-store.js';
import type { WalkStore } from '../store/walk-store.js';
import {
  decodeStep,
  encodeStep,
  FIRST_STEP,
  planSync,
  type SyncDialog,
  type SyncPlan,
  type SyncQuestion,
  type SyncStep,
} from './sync-plan.js';

export interface SyncOptions {
  /** Events on one page. */
  readonly pageEvents: number;
  /** What a client gets of a conversation that it has never had. */
  readonly windowMessages: number;
  /** How long a sync may rest between two pages. */
  readonly walkTtlMs: number;
}

interface Page {
  readonly events: readonly object[];
  /** Undefined: that was the last one. */
  readonly next: SyncStep | undefined;
}

/**
 * What a user has missed, page by page: first the messages above the seqs that the client has, then what changed on older ones. The
 * plan is fixed with the first page; whatever happens during the sync reaches the client live.
 */
export class Sync {
  readonly #conversations: ConversationStore;
  readonly #messages: MessageStore;
  readonly #changes: ChangeStore;
  readonly #walks: WalkStore;
  readonly #clock: Clock;
  readonly #options: SyncOptions;

  constructor(
    stores: { conversations: ConversationStore; messages: MessageStore; changes: ChangeStore; walks: WalkStore },
    clock: Clock,
    options: SyncOptions,
  ) {
    this.#conversations = stores.conversations;
    this.#messages = stores.messages;
    this.#changes = stores.changes;
    this.#walks = stores.walks;
    this.#clock = clock;
    this.#options = options;
  }

  /** The answer's body; a user nobody knows has no dialogs. */
  begin(question: SyncQuestion): object {
    const dialogs = this.#conversations.dialogsOf(question.userId);
    const plan = planSync(dialogs, question, this.#options.windowMessages, this.#changes.lastPosition());
    return this.#answer(plan, FIRST_STEP, question.userId, () => this.#keep(plan, question.userId));
  }

  /** A further page; the token alone says which. */
  resume(userId: string, token: string): object | Refusal {
    const [walkId = '', stepText = ''] = token.split('/', 2);
    const stored = this.#walks.get(walkId, userId);
    const step = decodeStep(stepText);
    if (stored === undefined || step === undefined) return new Refusal('page_unknown', 'the sync has expired or never was; begin again');
    // Written by `#keep` of this very class.
    return this.#answer(JSON.parse(stored) as SyncPlan, step, userId, () => walkId);
  }

  #answer(plan: SyncPlan, step: SyncStep, userId: string, walkId: () => string): object {
    const { events, next } = this.#page(plan, step, userId);
    return {
      conversations: plan.dialogs.map(dialogBody),
      events,
      next_page: next === undefined ? undefined : `${walkId()}/${encodeStep(next)}`,
    };
  }

  #page(plan: SyncPlan, step: SyncStep, userId: string): Page {
    if (step.phase === 'changes') return this.#changesPage(plan, step.afterPosition, userId, this.#options.pageEvents);
    const { messages, next } = this.#messagesFrom(plan, step.dialog, step.afterSeq);
    const events = messages.map(messageEvent);
    if (next !== undefined) return { events, next };
    const changes = this.#changesPage(plan, 0, userId, this.#options.pageEvents - events.length);
    return { events: [...events, ...changes.events], next: changes.next };
  }

  #messagesFrom(plan: SyncPlan, from: number, fromSeq: number): { messages: Message[]; next: SyncStep | undefined } {
    const messages: Message[] = [];
    for (const [offset, { conversationId, afterSeq, throughSeq }] of plan.dialogs.slice(from).entries()) {
      const dialog = from + offset;
      const resumeAfter = offset === 0 ? Math.max(fromSeq, afterSeq) : afterSeq;
      if (resumeAfter >= throughSeq) continue;
      const room = this.#options.pageEvents - messages.length;
      const found = room === 0 ? [] : this.#messages.between(conversationId, resumeAfter, throughSeq, room);
      messages.push(...found);
      const reached = found.at(-1)?.seq ?? resumeAfter;
      if (reached < throughSeq) return { messages, next: { phase: 'messages', dialog, afterSeq: reached } };
    }
    return { messages, next: undefined };
  }

  #changesPage({ dialogs, sinceMs, throughPosition }: SyncPlan, afterPosition: number, userId: string, room: number): Page {
    const scopes = dialogs.map(({ conversationId, afterSeq, throughSeq, isKnown }) => ({
      conversationId,
      afterSeq,
      throughSeq,
      sinceMs: isKnown ? sinceMs : undefined,
    }));
    // One more than fits tells whether there is another page.
    const found = this.#changes.within(scopes, afterPosition, throughPosition, room + 1);
    if (found.length > room) {
      const events = found.slice(0, room);
      return { events: events.map(changeEvent), next: { phase: 'changes', afterPosition: events.at(-1)?.position ?? afterPosition } };
    }
    const removals = sinceMs === undefined ? [] : this.#changes.removalsOf(userId, sinceMs, throughPosition);
    return { events: [...found, ...removals].map(changeEvent), next: undefined };
  }

  #keep(plan: SyncPlan, userId: string): string {
    const nowMs = this.#clock.wallMs();
    const walkId = randomUUID();
    this.#walks.reap(nowMs - this.#options.walkTtlMs);
    this.#walks.add(walkId, userId, JSON.stringify(plan), nowMs);
    return walkId;
  }
}

function dialogBody({ conversationId, type, title, peerId, throughSeq }: SyncDialog): object {
  return { conversation_id: conversationId, type, title, peer_id: peerId, last_seq: throughSeq };
}

function messageEvent(message: Message): object {
  const { conversationId, eventId, sentAtMs } = message;
  return {
    type: 'message.new',
    event_id: eventId,
    conversation_id: conversationId,
    occurred_at: isoTime(sentAtMs),
    payload: messagePayload(message),
  };
}

function changeEvent({ type, eventId, conversationId, occurredAtMs, payload }: RecordedChange): object {
  return {
    type,
    event_id: eventId,
    conversation_id: conversationId,
    occurred_at: isoTime(occurredAtMs),
    payload: JSON.parse(payload) as unknown,
  };
}

import type { Context } from './context.js';
import { type DurableFrame, hasMessage, isSeq, type MessageFrame } from './frames.js';
import type { Ledger } from './ledger.js';
import { MessageChanges } from './message-changes.js';
import { MessageOrder } from './message-order.js';
import { RecentIds } from './recent-ids.js';

/** How an event came, and its text as it was on the wire (for numbers beyond 2^53). */
export interface EventOrigin {
  readonly source: 'live' | 'sync';
  readonly raw: string;
}

export interface InboxEvent {
  readonly frame: DurableFrame;
  readonly origin: EventOrigin;
}

/** The sync under way, as the inbox must know it. */
export interface SyncInFlight {
  /** Counts up with every request; undefined while none is under way. */
  readonly number: number | undefined;
  /** A frame came by it. */
  brought(isNewMessage: boolean): void;
}

/** How many ids of messages and of other events are remembered: more than one sync brings while live frames repeat it. */
const MAX_MESSAGE_IDS = 10_000;
const MAX_EVENT_IDS = 5_000;

/** The way of one durable frame: cursor → known already? → order within its conversation → application. */
export class Inbox {
  readonly #ledger: Ledger;
  readonly #context: Context;
  readonly #holdMs: () => number;
  readonly #emit: (event: InboxEvent) => void;
  readonly #messageIds = new RecentIds(MAX_MESSAGE_IDS);
  readonly #eventIds = new RecentIds(MAX_EVENT_IDS);
  readonly #changes = new MessageChanges();
  readonly #order: MessageOrder<InboxEvent>;

  constructor(context: Context, ledger: Ledger, holdMs: () => number, emit: (event: InboxEvent) => void) {
    this.#context = context;
    this.#ledger = ledger;
    this.#holdMs = holdMs;
    this.#emit = emit;
    this.#order = new MessageOrder(ledger, (event) => this.#handOut(event));
  }

  receive(frame: DurableFrame, raw: string, sync: SyncInFlight): void {
    if (!this.#ledger.admits(frame.cursor)) return;
    // Pub/sub's frames carry no cursor either: one is a sync's only while a sync is under way.
    const isSynced = frame.cursor === undefined && sync.number !== undefined;
    const event: InboxEvent = { frame, origin: { source: isSynced ? 'sync' : 'live', raw } };
    const isNews = this.#isNews(frame, isSynced, sync.number);
    if (isSynced) sync.brought(isNews && frame.type === 'message.new');
    if (isNews) this.#accept(frame, event);
    this.#watchHeld();
  }

  /** The ledger has moved on, by a sync. */
  flush(): void {
    this.#order.flush();
    this.#watchHeld();
  }

  #isNews(frame: DurableFrame, isSynced: boolean, syncNumber: number | undefined): boolean {
    if (frame.type === 'message.new' && hasMessage(frame)) return this.#isNewMessage(frame, isSynced);
    if (frame.event_id !== undefined && !this.#eventIds.add(frame.event_id)) return false;
    const isChange = frame.type === 'message.edited' || frame.type === 'message.deleted';
    return !isChange || !hasMessage(frame) || this.#changes.accept(frame, isSynced, syncNumber);
  }

  #isNewMessage({ conversation_id: conversationId, message }: MessageFrame, isSynced: boolean): boolean {
    // A sync repeats what came live after the hole, also what has left the memory of ids. A live frame is new by its cursor; its
    // seq says nothing against it (a messenger that was restored from a backup counts from below again).
    const isRepeated =
      isSynced && conversationId !== undefined && isSeq(message.seq) && this.#ledger.hasReceived(conversationId, message.seq);
    return this.#messageIds.add(message.id) && !isRepeated;
  }

  #accept(frame: DurableFrame, event: InboxEvent): void {
    const { conversation_id: conversationId } = frame;
    const seq = frame.type === 'message.new' && hasMessage(frame) ? frame.message.seq : undefined;
    if (conversationId === undefined || !isSeq(seq)) return this.#order.follow(conversationId, event);
    this.#ledger.received(conversationId, seq);
    this.#order.offer(conversationId, seq, event, this.#context.clock.nowMs());
  }

  #handOut(event: InboxEvent): void {
    this.#emit(event);
    if (!hasMessage(event.frame)) return;
    if (event.frame.type !== 'message.new') return this.#changes.handedOut(event.frame);
    const change = this.#changes.missedBy(event.frame.message.id);
    if (change !== undefined) this.#emit({ frame: change, origin: event.origin });
  }

  #watchHeld(): void {
    const oldestMs = this.#order.oldestMs;
    if (oldestMs === undefined) return this.#context.timers.clear('hold');
    const holdMs = this.#holdMs();
    this.#context.timers.set('hold', Math.max(0, oldestMs + holdMs - this.#context.clock.nowMs()), () => {
      this.#order.releaseUntil(this.#context.clock.nowMs() - holdMs);
      this.#watchHeld();
    });
  }
}

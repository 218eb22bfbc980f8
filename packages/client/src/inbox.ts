import type { Context } from './context.js';
import { type DurableFrame, hasMessage, isSeq } from './frames.js';
import type { Ledger } from './ledger.js';
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
  brought(): void;
}

/** How many ids of messages and of other events are remembered: more than one sync brings while live frames repeat it. */
const MAX_MESSAGE_IDS = 10_000;
const MAX_EVENT_IDS = 5_000;

/** The way of one durable frame: cursor → known already? → order within its conversation → application. */
export class Inbox {
  readonly #context: Context;
  readonly #ledger: Ledger;
  readonly #sync: SyncInFlight;
  readonly #holdMs: () => number;
  readonly #emit: (event: InboxEvent) => void;
  readonly #messageIds = new RecentIds(MAX_MESSAGE_IDS);
  readonly #eventIds = new RecentIds(MAX_EVENT_IDS);
  readonly #order: MessageOrder<InboxEvent>;
  /** The conversations in which the sync of that number has brought something new. */
  #renewed: { readonly number: number | undefined; readonly conversationIds: Set<string | undefined> } | undefined;

  constructor(context: Context, ledger: Ledger, sync: SyncInFlight, holdMs: () => number, emit: (event: InboxEvent) => void) {
    this.#context = context;
    this.#ledger = ledger;
    this.#sync = sync;
    this.#holdMs = holdMs;
    this.#emit = emit;
    this.#order = new MessageOrder(
      ledger,
      () => sync.number !== undefined,
      (event) => this.#handOut(event),
    );
  }

  receive(frame: DurableFrame, raw: string): void {
    if (!this.#ledger.admits(frame.cursor)) return;
    // Pub/sub's frames carry no cursor either: one is a sync's only while a sync is under way.
    const isSynced = frame.cursor === undefined && this.#sync.number !== undefined;
    if (isSynced) this.#sync.brought();
    this.#place(frame, isSynced, { frame, origin: { source: isSynced ? 'sync' : 'live', raw } });
    this.#watchWaiting();
  }

  /** A sync has brought the ledger on, or has ended. */
  flush(): void {
    this.#order.flush();
    this.#watchWaiting();
  }

  #place(frame: DurableFrame, isSynced: boolean, event: InboxEvent): void {
    const { conversation_id: conversationId } = frame;
    const message = frame.type === 'message.new' && hasMessage(frame) ? frame.message : undefined;
    if (message !== undefined && !this.#isNew(message.id, conversationId, message.seq, isSynced)) return;
    if (conversationId === undefined) this.#handOut(event);
    else if (isSeq(message?.seq)) {
      this.#ledger.received(conversationId, message.seq);
      this.#order.message(conversationId, message.seq, event, this.#context.clock.nowMs());
    } else this.#order.other(conversationId, isSynced, event);
  }

  /**
   * A sync repeats what came live after the hole, also what has left the memory of ids. A live frame is new by its cursor; its seq
   * says nothing against it (a messenger that was restored from a backup counts from below again).
   */
  #isNew(messageId: string, conversationId: string | undefined, seq: unknown, isSynced: boolean): boolean {
    const isRepeated = isSynced && conversationId !== undefined && isSeq(seq) && this.#ledger.hasReceived(conversationId, seq);
    return this.#messageIds.add(messageId) && !isRepeated;
  }

  #handOut(event: InboxEvent): void {
    const { type, event_id: eventId, conversation_id: conversationId } = event.frame;
    const isNew = type === 'message.new' || eventId === undefined || this.#eventIds.add(eventId);
    if (event.origin.source === 'sync') {
      if (this.#renewed?.number !== this.#sync.number) this.#renewed = { number: this.#sync.number, conversationIds: new Set() };
      // Behind something new comes what is newer still: left out because it is known, the older one would have the last word.
      if (isNew) this.#renewed?.conversationIds.add(conversationId);
      else if (this.#renewed?.conversationIds.has(conversationId) !== true) return;
    } else if (!isNew) return;
    this.#emit(event);
  }

  #watchWaiting(): void {
    const { timers, clock } = this.#context;
    // Set for an older one, it comes in time for this one too.
    const heldSinceMs = timers.has('hold') ? undefined : this.#order.heldSinceMs;
    if (heldSinceMs === undefined) return;
    const holdMs = this.#holdMs();
    timers.set('hold', Math.max(0, heldSinceMs + holdMs - clock.nowMs()), () => {
      this.#order.releaseUntil(clock.nowMs() - holdMs);
      this.#watchWaiting();
    });
  }
}

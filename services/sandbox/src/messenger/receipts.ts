import type { Clock } from '@event-gateway/runtime';
import { Refusal } from '../refusal.js';
import type { ConversationStore } from '../store/conversation-store.js';
import type { Database } from '../store/database.js';
import type { Receipt, ReceiptKind, ReceiptStore } from '../store/receipt-store.js';
import type { EventRecorder } from './event-recorder.js';
import { conversationOfMember } from './membership.js';

/** How far everybody has received and read. */
export class Receipts {
  readonly #database: Database;
  readonly #conversations: ConversationStore;
  readonly #receipts: ReceiptStore;
  readonly #recorder: EventRecorder;
  readonly #clock: Clock;

  constructor(database: Database, conversations: ConversationStore, receipts: ReceiptStore, recorder: EventRecorder, clock: Clock) {
    this.#database = database;
    this.#conversations = conversations;
    this.#receipts = receipts;
    this.#recorder = recorder;
    this.#clock = clock;
  }

  /** Everything up to `seq`. A lower one than before is no news, and no refusal: devices race. */
  acknowledge(userId: string, conversationId: string, kind: ReceiptKind, seq: number): Receipt | Refusal {
    return this.#database.transaction(() => {
      const conversation = conversationOfMember(this.#conversations, conversationId, userId);
      if (conversation instanceof Refusal) return conversation;
      if (seq > conversation.lastSeq) return new Refusal('bad_request', `the conversation ends at seq ${conversation.lastSeq}`);
      const receipt = { userId, kind, seq };
      if (!this.#receipts.raise(conversationId, receipt)) return receipt;
      this.#recorder.changed({
        type: `receipt.${kind}`,
        conversationId,
        recipients: this.#conversations.members(conversationId),
        payload: { user_id: userId, seq },
        subject: ['receipt', conversationId, userId, kind],
        atMs: this.#clock.wallMs(),
      });
      return receipt;
    });
  }

  of(conversationId: string): object[] {
    return this.#receipts.of(conversationId).map(({ userId, kind, seq }) => ({ user_id: userId, kind, seq }));
  }
}

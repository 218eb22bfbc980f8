import { type ConversationId, type Envelope, keyEquals, type SyncConversation } from '@event-gateway/protocol';

/**
 * Up to which seq a sync has brought each conversation: what the client may hold on to when it ends. Only `message.new` counts;
 * other events carry the seq of the older message that they change.
 */
export class DeliveredSeqs {
  readonly #known: ReadonlyMap<ConversationId, number>;
  readonly #delivered = new Map<ConversationId, number>();
  /** The last seq of each dialog as the first page that named it said: later messages come live. */
  readonly #lastSeqs = new Map<ConversationId, number>();
  /** As `#delivered`, but up to the first seq that is missing. */
  readonly #unbroken = new Map<ConversationId, number>();
  #hasLost = false;

  /** `known`: the seqs that the client asked with. */
  constructor(known: ReadonlyMap<ConversationId, number>) {
    this.#known = known;
  }

  named({ conversationId, lastSeq }: SyncConversation): void {
    if (!this.#lastSeqs.has(conversationId)) this.#lastSeqs.set(conversationId, lastSeq);
  }

  /** An event could not be delivered, of no matter which conversation. */
  lost(): void {
    this.#hasLost = true;
  }

  get hasLost(): boolean {
    return this.#hasLost;
  }

  delivered({ type, conversationId, payload, payloadMembers }: Envelope): void {
    if (type !== 'message.new' || conversationId === undefined) return;
    const member = payloadMembers?.findLast((candidate) => keyEquals(payload, candidate, 'seq'));
    if (member === undefined) return;
    const seq = Number(Buffer.from(payload.subarray(member.valueStart, member.valueEnd)).toString('latin1'));
    if (!Number.isSafeInteger(seq)) return;
    raise(this.#delivered, conversationId, seq);
    const before = this.#unbroken.get(conversationId) ?? this.#known.get(conversationId) ?? seq - 1;
    if (seq === before + 1) this.#unbroken.set(conversationId, seq);
  }

  /**
   * After the last page: every dialog that the messenger named is whole, up to the last message that it sent of it, or, where it had
   * nothing new, up to the last that it named. Not so when an event was lost, which may be a message of any of them: then a dialog is known
   * up to the first seq that is missing, and no further.
   */
  whole(): Map<ConversationId, number> {
    return this.#hasLost ? raised(this.#known, this.#unbroken) : new Map([...this.#lastSeqs, ...this.#delivered]);
  }

  /**
   * With pages left: what was sent, and of a dialog that had nothing yet what the client has itself. Beyond what was lost as well: a
   * client that starts again from these seqs would come to the same event for ever.
   */
  soFar(): Map<ConversationId, number> {
    return raised(this.#known, this.#delivered);
  }
}

function raised(seqs: ReadonlyMap<ConversationId, number>, by: ReadonlyMap<ConversationId, number>): Map<ConversationId, number> {
  const result = new Map(seqs);
  for (const [id, seq] of by) raise(result, id, seq);
  return result;
}

function raise(seqs: Map<ConversationId, number>, id: ConversationId, seq: number): void {
  if (seq > (seqs.get(id) ?? -1)) seqs.set(id, seq);
}

import type { Ledger } from './ledger.js';

interface Waiting<Item> {
  /** Messages with an unreceived one before them. */
  held: { readonly seq: number; readonly item: Item }[];
  heldSinceMs: number;
  /** Messages went up to here although one is missing. */
  releasedTo: number;
  /** Other events, behind the messages that came before them. */
  readonly others: Item[];
  /** Those that came live while a sync is under way. */
  readonly afterSync: Item[];
}

/** So much waits at the most, over all conversations; beyond it order is given up before memory is. */
const MAX_WAITING = 10_000;
/** Below the seq before any first one. */
const NOTHING = -2;

/**
 * Hands events out in the order of their conversation: messages by seq, and everything else behind the messages that came before
 * it. A message with an unreceived one before it waits until the ledger knows the gap to be closed, or until it is released; late
 * ones come late, but they come. What comes live while a sync is under way waits for its end: whatever that sync brings was asked
 * earlier, and must not have the last word.
 */
export class MessageOrder<Item> {
  readonly #ledger: Pick<Ledger, 'contiguous'>;
  readonly #isSyncing: () => boolean;
  readonly #emit: (item: Item) => void;
  readonly #waiting = new Map<string, Waiting<Item>>();
  #count = 0;

  constructor(ledger: Pick<Ledger, 'contiguous'>, isSyncing: () => boolean, emit: (item: Item) => void) {
    this.#ledger = ledger;
    this.#isSyncing = isSyncing;
    this.#emit = emit;
  }

  /** Since when the oldest message waits; undefined when none does. */
  get heldSinceMs(): number | undefined {
    let sinceMs: number | undefined;
    for (const { held, heldSinceMs } of this.#waiting.values())
      if (held.length > 0) sinceMs = Math.min(heldSinceMs, sinceMs ?? heldSinceMs);
    return sinceMs;
  }

  /** A message that the ledger has entered. */
  message(conversationId: string, seq: number, item: Item, nowMs: number): void {
    const waiting = this.#of(conversationId);
    if (waiting.held.length === 0) waiting.heldSinceMs = nowMs;
    waiting.held.push({ seq, item });
    this.#added(conversationId, waiting, this.#mayGo(conversationId, waiting, seq));
  }

  /** Any other event of a conversation. */
  other(conversationId: string, isSynced: boolean, item: Item): void {
    const waiting = this.#of(conversationId);
    (isSynced || !this.#isSyncing() ? waiting.others : waiting.afterSync).push(item);
    this.#added(conversationId, waiting, true);
  }

  /** The ledger knows more, or a sync has ended: lets go what may go now. */
  flush(): void {
    for (const [conversationId, waiting] of [...this.#waiting]) this.#drain(conversationId, waiting, this.#isSyncing());
  }

  /** Lets the messages go that have waited since `sinceMs` or longer, in order, without the missing ones. */
  releaseUntil(sinceMs: number, isSyncing: boolean = this.#isSyncing()): void {
    for (const [conversationId, waiting] of [...this.#waiting]) {
      if (waiting.heldSinceMs > sinceMs) continue;
      for (const { seq } of waiting.held) waiting.releasedTo = Math.max(waiting.releasedTo, seq);
      this.#drain(conversationId, waiting, isSyncing);
    }
  }

  #of(conversationId: string): Waiting<Item> {
    const waiting = this.#waiting.get(conversationId) ?? { held: [], heldSinceMs: 0, releasedTo: NOTHING, others: [], afterSync: [] };
    this.#waiting.set(conversationId, waiting);
    return waiting;
  }

  #added(conversationId: string, waiting: Waiting<Item>, mayGo: boolean): void {
    this.#count += 1;
    if (mayGo) this.#drain(conversationId, waiting, this.#isSyncing());
    if (this.#count > MAX_WAITING) this.releaseUntil(Number.POSITIVE_INFINITY, false);
  }

  #contiguous(conversationId: string): number {
    return this.#ledger.contiguous(conversationId) ?? NOTHING;
  }

  #mayGo(conversationId: string, { releasedTo }: Waiting<Item>, seq: number): boolean {
    return seq <= Math.max(this.#contiguous(conversationId), releasedTo + 1);
  }

  #drain(conversationId: string, waiting: Waiting<Item>, isSyncing: boolean): void {
    const { held, others, afterSync } = waiting;
    const ready: Item[] = [];
    held.sort((a, b) => a.seq - b.seq);
    for (const { seq, item } of held) {
      if (!this.#mayGo(conversationId, waiting, seq)) break;
      if (waiting.releasedTo > NOTHING) waiting.releasedTo = Math.max(waiting.releasedTo, seq);
      ready.push(item);
    }
    held.splice(0, ready.length);
    // They are older than what a next sync will bring, whether they may go already or not.
    if (!isSyncing) others.push(...afterSync.splice(0));
    if (held.length === 0) {
      ready.push(...others.splice(0));
      if (afterSync.length === 0 && waiting.releasedTo <= this.#contiguous(conversationId)) this.#waiting.delete(conversationId);
    }
    this.#count -= ready.length;
    // Last, when everything is in place: what is called here may call back.
    for (const item of ready) this.#emit(item);
  }
}

import type { Ledger } from './ledger.js';

interface Waiting<Item> {
  held: { readonly seq: number; readonly item: Item }[];
  /** Whatever else belongs to that conversation and came after a held message: it may speak of it. */
  after: Item[];
  sinceMs: number;
  /** Up to here messages were let go although one is missing. */
  releasedTo: number;
}

/** So much waits at the most, over all conversations; beyond it order is given up before memory is. */
const MAX_HELD = 10_000;
/** Below the seq before any first one. */
const NOTHING = -2;

/**
 * Hands messages out in seq order per conversation. A message that has an unreceived one before it waits, until the ledger knows
 * the gap to be closed or until it is released; late ones come late, but they come.
 */
export class MessageOrder<Item> {
  readonly #ledger: Pick<Ledger, 'contiguous'>;
  readonly #emit: (item: Item) => void;
  readonly #waiting = new Map<string, Waiting<Item>>();
  #heldCount = 0;

  constructor(ledger: Pick<Ledger, 'contiguous'>, emit: (item: Item) => void) {
    this.#ledger = ledger;
    this.#emit = emit;
  }

  /** Since when the oldest held message waits; undefined when none does. */
  get oldestMs(): number | undefined {
    let oldestMs: number | undefined;
    for (const { held, sinceMs } of this.#waiting.values()) if (held.length > 0) oldestMs = Math.min(sinceMs, oldestMs ?? sinceMs);
    return oldestMs;
  }

  /** A message that the ledger has entered. */
  offer(conversationId: string, seq: number, item: Item, nowMs: number): void {
    const waiting = this.#waiting.get(conversationId) ?? { held: [], after: [], sinceMs: nowMs, releasedTo: NOTHING };
    this.#waiting.set(conversationId, waiting);
    if (waiting.held.length === 0) waiting.sinceMs = nowMs;
    waiting.held.push({ seq, item });
    this.#heldCount += 1;
    if (this.#mayGo(conversationId, waiting, seq)) this.#drain(conversationId, waiting);
    else if (this.#heldCount > MAX_HELD) this.releaseUntil(nowMs);
  }

  /** Any other event of a conversation: behind the messages that wait there. */
  follow(conversationId: string | undefined, item: Item): void {
    const waiting = conversationId === undefined ? undefined : this.#waiting.get(conversationId);
    if (waiting !== undefined && waiting.held.length > 0) waiting.after.push(item);
    else this.#emit(item);
  }

  /** The ledger knows more: lets go what is in order now. */
  flush(): void {
    for (const [conversationId, waiting] of [...this.#waiting]) this.#drain(conversationId, waiting);
  }

  /** Lets go, in order, of all that has waited since `sinceMs` or longer, without the missing ones. */
  releaseUntil(sinceMs: number): void {
    for (const [conversationId, waiting] of [...this.#waiting]) {
      if (waiting.held.length === 0 || waiting.sinceMs > sinceMs) continue;
      for (const { seq } of waiting.held) waiting.releasedTo = Math.max(waiting.releasedTo, seq);
      this.#drain(conversationId, waiting);
    }
  }

  #contiguous(conversationId: string): number {
    return this.#ledger.contiguous(conversationId) ?? -1;
  }

  #mayGo(conversationId: string, waiting: Waiting<Item>, seq: number): boolean {
    return seq <= Math.max(this.#contiguous(conversationId), waiting.releasedTo + 1);
  }

  #drain(conversationId: string, waiting: Waiting<Item>): void {
    const ready: Item[] = [];
    waiting.held.sort((a, b) => a.seq - b.seq);
    for (const { seq, item } of waiting.held) {
      if (!this.#mayGo(conversationId, waiting, seq)) break;
      if (waiting.releasedTo > NOTHING) waiting.releasedTo = Math.max(waiting.releasedTo, seq);
      ready.push(item);
    }
    waiting.held.splice(0, ready.length);
    this.#heldCount -= ready.length;
    if (waiting.held.length === 0) {
      ready.push(...waiting.after.splice(0));
      if (waiting.releasedTo <= this.#contiguous(conversationId)) this.#waiting.delete(conversationId);
    }
    // Last, when everything is in place: what is called here may call back.
    for (const item of ready) this.#emit(item);
  }
}

import { Backoff } from './backoff.js';
import type { Context } from './context.js';
import { type ClientFrame, type FrameError, type HelloFrame, seqEntries, type SyncCompleteFrame, waitMs } from './frames.js';
import type { SyncInFlight } from './inbox.js';
import type { Ledger } from './ledger.js';
import { isStreamId } from './stream-id.js';

export interface CatchUpPorts {
  send(frame: ClientFrame): boolean;
  /** A sync has brought the ledger on, or has ended, well or not. */
  advanced(): void;
  /** A hole was opened or closed. */
  changed(): void;
}

/** One sync, from its first request to the `sync.complete` that ends it. */
interface Chain {
  readonly number: number;
  /** The frozen seqs in requests that fit the gateway's limit of a frame: nearly always one. */
  readonly requests: [string, number][][];
  readonly edges: ReadonlyMap<string, number>;
  next: string | undefined;
  frames: number;
}

/** 64 KiB is the limit of a frame; the rest is for the other fields. */
const MAX_CONVERSATIONS_BYTES = 60_000;
/** `sync.required` follows a refused cursor at once; should it not, the client goes on by itself. */
const SYNC_REQUIRED_PATIENCE_MS = 5_000;
/** After so many gaps on one connection that a sync could not fill, seqs with holes are this messenger's way, and nothing waits for them any more. */
const MAX_FRUITLESS_GAPS = 3;
const MAX_GAP_GRACE_MS = 60_000;

/** Decides when to sync, asks, and goes on asking until the hole is filled, over as many connections as that takes. */
export class CatchUp implements SyncInFlight {
  readonly #context: Context;
  readonly #ledger: Ledger;
  readonly #ports: CatchUpPorts;
  readonly #backoff: Backoff;
  #isConnected = false;
  #wasConnected = false;
  #chain: Chain | undefined;
  #chainCount = 0;
  #ref = 0;
  /** A second hole opened while a sync was under way, which may have been asked too early for it. */
  #nextHole: { readonly cursor: string | undefined; readonly afterMs: number } | undefined;
  #isGapSync = false;
  #fruitlessGaps = 0;
  #failure: string | undefined;

  constructor(context: Context, ledger: Ledger, ports: CatchUpPorts) {
    this.#context = context;
    this.#ledger = ledger;
    this.#ports = ports;
    this.#backoff = new Backoff({ firstRetryMaxMs: 1_000, backoffBaseMs: 1_000, backoffMaxMs: 30_000 }, context.random);
  }

  /** The sync under way on this connection. */
  get number(): number | undefined {
    return this.#chain?.number;
  }

  /** Why the last attempt failed, while the next one is still to come. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get holdMs(): number {
    return this.#fruitlessGaps < MAX_FRUITLESS_GAPS ? this.#context.timing.holdMs : 0;
  }

  brought(): void {
    if (this.#chain !== undefined) this.#chain.frames += 1;
  }

  /** `sentCursor`: what this connection asked to resume from. `isOwed`: sync although nothing was ever received (a first start). */
  hello(frame: HelloFrame, sentCursor: string | undefined, isOwed: boolean): void {
    this.#isConnected = true;
    const isFirst = !this.#wasConnected && !this.#ledger.hasHistory;
    this.#wasConnected = true;
    const before = this.#ledger.cursor;
    const hasCursor = isStreamId(frame.cursor);
    if (frame.resumed !== true) {
      this.#ledger.assign(frame.cursor);
      // A first sync starts at this moment: what changes before it is answered is asked for as well.
      if (!isFirst || isOwed) this.#open(isFirst ? this.#ledger.cursor : before);
    }
    if (this.#ledger.hole === undefined) return;
    // A refused cursor is followed by `sync.required`, which says when; everything else is this client's own affair.
    this.#schedule(frame.resumed !== true && sentCursor !== undefined && hasCursor ? SYNC_REQUIRED_PATIENCE_MS : 0);
  }

  required(cursor: unknown, afterMs: number): void {
    const before = this.#ledger.cursor;
    this.#ledger.assign(cursor);
    if (this.#chain !== undefined) {
      this.#nextHole ??= { cursor: before, afterMs };
      return;
    }
    this.#open(before);
    this.#schedule(afterMs);
  }

  /** The application asks: something it holds may be wrong. */
  request(): void {
    if (this.#chain !== undefined) return;
    this.#open(this.#ledger.cursor);
    this.#schedule(0);
  }

  /** Whenever there may be a new gap: a seq that is missing gets a moment, then a sync. */
  watchGaps(): void {
    if (!this.#ledger.hasGap || this.#ledger.hole !== undefined || this.#context.timers.has('gap')) return;
    this.#context.timers.set('gap', Math.min(MAX_GAP_GRACE_MS, this.#context.timing.gapGraceMs * 4 ** this.#fruitlessGaps), () => {
      if (!this.#ledger.hasGap || this.#ledger.hole !== undefined) return;
      this.#isGapSync = true;
      this.#ledger.openGap();
      this.#ports.changed();
      this.#schedule(this.#context.random() * this.#context.timing.gapSpreadMs);
    });
  }

  complete(frame: SyncCompleteFrame): void {
    const chain = this.#chain;
    if (chain === undefined || (frame.ref !== undefined && frame.ref !== String(this.#ref))) return;
    // Its cursor is from before the messenger was asked: older than a hole that has opened since, which may have assigned a lower one.
    if (this.#nextHole === undefined) this.#ledger.raise(frame.cursor);
    const asked = new Set(chain.requests[0]?.map(([id]) => id));
    this.#ledger.delivered(seqEntries(frame.conversations), (id) => asked.has(id));
    this.#ports.advanced();
    if (frame.has_more === true) return this.#more(chain, frame.next);
    chain.requests.shift();
    chain.next = undefined;
    if (chain.requests.length > 0) this.#ask(chain);
    else this.#finish(chain);
  }

  /** False when the error is about something else. */
  failed(error: FrameError): boolean {
    if (this.#chain === undefined || (error.ref !== undefined && error.ref !== String(this.#ref))) return false;
    if (error.ref === undefined && !/^sync_/.test(error.code)) return false;
    this.#retry(error.code, waitMs(error.retry_after_ms, 0));
    return true;
  }

  /** What was delivered stays delivered; the rest is asked again on the next connection. */
  disconnected(): void {
    this.#isConnected = false;
    this.#fruitlessGaps = 0;
    this.#context.timers.clear('sync');
    this.#abandon();
  }

  #open(cursor: string | undefined): void {
    this.#isGapSync = false;
    if (this.#ledger.hole !== undefined) return;
    this.#ledger.openHole(cursor);
    this.#ports.changed();
  }

  #schedule(delayMs: number): void {
    if (!this.#isConnected) return;
    if (delayMs > 0) this.#context.timers.set('sync', delayMs, () => this.#start());
    else this.#start();
  }

  #start(): void {
    const hole = this.#ledger.hole;
    if (hole === undefined || !this.#isConnected) return;
    this.#abandon();
    this.#chainCount += 1;
    this.#chain = {
      number: this.#chainCount,
      requests: splitBySize([...hole.lastSeqs], MAX_CONVERSATIONS_BYTES),
      edges: this.#ledger.edges(),
      next: undefined,
      frames: 0,
    };
    this.#ask(this.#chain);
  }

  #ask(chain: Chain): void {
    this.#ref += 1;
    chain.frames = 0;
    this.#ports.send({
      type: 'sync',
      conversations: Object.fromEntries(chain.requests[0] ?? []),
      cursor: this.#ledger.hole?.cursor,
      next: chain.next,
      ref: String(this.#ref),
    });
    this.#awaitAnswer(chain, chain.frames);
  }

  #awaitAnswer(chain: Chain, framesBefore: number): void {
    this.#context.timers.set('sync', this.#context.timing.syncPatienceMs, () => {
      if (chain.frames > framesBefore) this.#awaitAnswer(chain, chain.frames);
      else this.#retry('sync_timeout', 0);
    });
  }

  #more(chain: Chain, next: unknown): void {
    // The page is one of the request that began this sync, so it is asked with the same seqs.
    if (typeof next === 'string') chain.next = next;
    const goOn = (): void => (typeof next === 'string' ? this.#ask(chain) : this.#start());
    if (chain.frames > 0 && typeof next === 'string') goOn();
    // Nothing came, or it starts over: without a pause this could go on for ever at full speed.
    else this.#context.timers.set('sync', this.#backoff.nextMs(), goOn);
  }

  #retry(failure: string, retryAfterMs: number): void {
    this.#abandon();
    this.#failure = failure;
    // The same wait was told to everybody, so some of it is random.
    const jitterMs = retryAfterMs > 0 ? (this.#context.random() * retryAfterMs) / 2 : this.#backoff.nextMs();
    this.#schedule(Math.max(1, retryAfterMs + jitterMs));
    this.#ports.changed();
  }

  /** The next one is asked later, so it covers every hole so far. */
  #abandon(): void {
    this.#chain = undefined;
    this.#nextHole = undefined;
    this.#ports.advanced();
  }

  #finish(chain: Chain): void {
    this.#chain = undefined;
    this.#failure = undefined;
    this.#backoff.reset();
    this.#context.timers.clear('sync');
    const nextHole = this.#nextHole;
    this.#nextHole = undefined;
    const isFilled = this.#ledger.closeHole(chain.edges, nextHole);
    if (this.#isGapSync) this.#fruitlessGaps = isFilled ? 0 : this.#fruitlessGaps + 1;
    this.#isGapSync = false;
    this.#ports.advanced();
    this.#ports.changed();
    if (nextHole !== undefined) this.#schedule(nextHole.afterMs);
    this.watchGaps();
  }
}

/** At least one part, also of nothing: a first sync has no seqs to send. */
function splitBySize(entries: readonly [string, number][], maxBytes: number): [string, number][][] {
  const parts: [string, number][][] = [[]];
  let bytes = 0;
  for (const entry of entries) {
    // At most three bytes per UTF-16 unit; escapes of quotes and backslashes are counted by the stringify.
    const entryBytes = new TextEncoder().encode(JSON.stringify(entry)).length;
    if (bytes + entryBytes > maxBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(entry);
    bytes += entryBytes;
  }
  return parts;
}

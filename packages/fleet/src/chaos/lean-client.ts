import {
  compareStreamIds,
  type DurableFrame,
  type HelloFrame,
  isStreamId,
  type ServerFrame,
  type SyncCompleteFrame,
  type SyncRequiredFrame,
} from '@event-gateway/protocol';
import type { ChaosClient, ChaosClientOptions } from './chaos-client.js';
import { LeanSocket } from './lean-socket.js';
import { type MessageFrame, messageOf, readFrame } from './read-frame.js';
import { SeqTrack } from './seq-track.js';

/** What a client must do. Without it, a run must fail. */
export interface Obedience {
  /** By message id. */
  readonly dedupes: boolean;
  /** To `sync.required`. */
  readonly listens: boolean;
}

/** What was known right before something was missed; a sync has to bring everything since. */
interface Debt {
  readonly seqs: Map<string, number>;
  readonly cursor: string | undefined;
}

/** Does what the contract asks of a client, in the plainest way. What comes while a hole is open is handed out when it is closed. */
export class LeanClient implements ChaosClient {
  readonly name: string;
  readonly userId: string;
  readonly application: ChaosClient['application'];
  readonly audit: ChaosClient['audit'];
  readonly #obedience: Obedience;
  readonly #socket: LeanSocket;
  readonly #tracks = new Map<string, SeqTrack>();
  readonly #ids = new Set<string>();
  #held: MessageFrame[] = [];
  #debt: Debt | undefined;
  #isSyncing = false;
  #mustSyncAgain = false;
  #wasGreeted = false;
  #cursor: string | undefined;
  #sentCursor: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ChaosClientOptions, obedience: Obedience = { dedupes: true, listens: true }) {
    this.name = options.name;
    this.userId = options.userId;
    this.application = options.application;
    this.audit = options.audit;
    this.#obedience = obedience;
    this.#socket = new LeanSocket(options, {
      cursor: () => (this.#sentCursor = this.#cursor),
      text: (text) => this.#receive(text),
      lost: () => this.#lost(),
    });
  }

  start(): void {
    this.#socket.open();
  }

  stop(): void {
    this.#socket.stop();
  }

  #lost(): void {
    clearTimeout(this.#timer);
    this.#isSyncing = false;
  }

  #receive(text: string): void {
    const read = readFrame(text);
    if (read?.kind === 'durable') this.#durable(read.frame);
    if (read?.kind === 'own') this.#own(read.frame);
  }

  #own(frame: ServerFrame): void {
    switch (frame.type) {
      case 'hello':
        return this.#hello(frame);
      case 'pong':
        return this.#raise(frame.cursor);
      case 'reconnect':
        this.#raise(frame.cursor);
        return this.#socket.hint(frame.after_ms);
      case 'sync.required':
        return this.#obedience.listens ? this.#syncRequired(frame) : undefined;
      case 'sync.complete':
        return this.#syncComplete(frame);
      case 'error':
        return frame.error.code.startsWith('sync_') ? this.#syncFailed(frame.error.retry_after_ms) : undefined;
      case 'auth.ok':
      case 'token.expiring':
      case 'presence':
      case 'presence.snapshot':
      case 'typing':
        return undefined;
    }
  }

  #hello(frame: HelloFrame): void {
    this.#socket.greeted(frame.heartbeat_ms);
    const before = this.#cursor;
    if (!frame.resumed) {
      this.#cursor = frame.cursor ?? undefined;
      this.#freeze(this.#wasGreeted ? before : this.#cursor);
    }
    this.#wasGreeted = true;
    // A cursor that was refused is followed by `sync.required`, which says when.
    if (frame.resumed || this.#sentCursor === undefined) this.#syncIn(0);
  }

  #syncRequired(frame: SyncRequiredFrame): void {
    this.#freeze(this.#cursor);
    this.#cursor = frame.cursor ?? undefined;
    if (!this.#isSyncing) this.#syncIn(frame.after_ms);
  }

  /** A hole that is open already is the older one, and stays; a sync under way may have been asked too early for the new one. */
  #freeze(cursor: string | undefined): void {
    if (this.#isSyncing) this.#mustSyncAgain = true;
    this.#debt ??= { seqs: new Map([...this.#tracks].map(([id, track]) => [id, track.contiguous])), cursor };
  }

  #syncIn(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#debt === undefined) return;
      this.#isSyncing = true;
      this.#mustSyncAgain = false;
      const { seqs, cursor } = this.#debt;
      this.#socket.send(JSON.stringify({ type: 'sync', conversations: Object.fromEntries(seqs), cursor }));
    }, afterMs);
  }

  #syncFailed(retryAfterMs = 500): void {
    this.#isSyncing = false;
    this.#syncIn(retryAfterMs);
  }

  #syncComplete(frame: SyncCompleteFrame): void {
    this.#isSyncing = false;
    this.#raise(frame.cursor);
    for (const [id, seq] of frame.conversations) {
      this.#track(id).raise(seq);
      this.#debt?.seqs.set(id, Math.max(seq, this.#debt.seqs.get(id) ?? 0));
    }
    if (frame.has_more || this.#mustSyncAgain) return this.#syncIn(0);
    this.#debt = undefined;
    const held = this.#held.sort((a, b) => a.seq - b.seq);
    this.#held = [];
    for (const message of held) this.#handOut(message);
  }

  #durable(frame: DurableFrame): void {
    const { cursor } = frame;
    if (cursor !== undefined && this.#cursor !== undefined && compareStreamIds(cursor, this.#cursor) <= 0) return;
    this.#raise(cursor);
    const { id, version } = frame.message ?? {};
    if (frame.type === 'message.edited' && typeof id === 'string' && typeof version === 'number') this.application.edited(id, version);
    const message = messageOf(frame);
    if (message === undefined || (this.#obedience.dedupes && this.#ids.has(message.id))) return;
    this.#ids.add(message.id);
    this.#track(message.conversationId).add(message.seq);
    if (this.#debt === undefined) this.#handOut(message);
    else this.#held.push(message);
  }

  #handOut({ conversationId, seq }: MessageFrame): void {
    this.application.message(conversationId, seq);
  }

  #raise(cursor: string | null | undefined): void {
    if (isStreamId(cursor) && (this.#cursor === undefined || compareStreamIds(cursor, this.#cursor) > 0)) this.#cursor = cursor;
  }

  #track(conversationId: string): SeqTrack {
    const track = this.#tracks.get(conversationId) ?? new SeqTrack();
    this.#tracks.set(conversationId, track);
    return track;
  }
}

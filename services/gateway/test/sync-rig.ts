import { decodeClientFrame, encodeFrame, type StreamId, type SyncFrame, type UserId } from '@event-gateway/protocol';
import { vi } from 'vitest';
import type { SyncConnection } from '../src/catchup/sync.js';
import type { OwnerReply, OwnerRequestRecord } from './http-owner.js';

export interface Frame {
  readonly type: string;
  readonly [name: string]: unknown;
}

/** A socket that takes `room` synced frames and then is full until `makeRoom`. */
export class TestConnection implements SyncConnection {
  readonly userId: UserId;
  cursor: StreamId | undefined;
  assuredCursor: StreamId | null = '1767225600000-5' as StreamId;
  room = Infinity;
  readonly texts: string[] = [];
  readonly #abort = new AbortController();
  #waiting: (() => void)[] = [];

  constructor(userId = 'a') {
    this.userId = userId as UserId;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get frames(): Frame[] {
    return this.texts.map((text) => JSON.parse(text) as Frame);
  }

  /** How each sync ended, in order. */
  get ends(): Frame[] {
    return this.frames.filter(({ type }) => type === 'sync.complete' || type === 'error');
  }

  get end(): Frame | undefined {
    return this.ends[0];
  }

  get errorCode(): unknown {
    return (this.end?.['error'] as { code?: unknown } | undefined)?.code;
  }

  get messages(): { readonly id: string; readonly seq: number; readonly sender_name: string }[] {
    return this.frames.flatMap((frame) => (frame.type === 'message.new' ? [frame['message'] as never] : []));
  }

  greeted(): Promise<void> {
    return Promise.resolve();
  }

  writeControl(frame: Parameters<SyncConnection['writeControl']>[0]): void {
    if (!this.signal.aborted) this.texts.push(encodeFrame(frame));
  }

  writeSynced(frame: Uint8Array): 'written' | 'full' | 'closed' {
    if (this.signal.aborted) return 'closed';
    if (this.room === 0) return 'full';
    this.room--;
    this.texts.push(Buffer.from(frame).toString());
    return 'written';
  }

  drained(): Promise<void> {
    if (this.signal.aborted || this.room > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  makeRoom(room: number): void {
    this.room = room;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  close(): void {
    this.#abort.abort();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async ended(): Promise<Frame> {
    return vi.waitFor(
      () => {
        if (this.end === undefined) throw new Error('the sync has not ended');
        return this.end;
      },
      { timeout: 25_000, interval: 5 },
    );
  }
}

export function syncFrame(fields: object = {}): SyncFrame {
  const frame = decodeClientFrame(Buffer.from(JSON.stringify({ type: 'sync', conversations: {}, ...fields })), { maxDepth: 32 });
  if (!('type' in frame) || frame.type !== 'sync') throw new Error('not a sync frame');
  return frame;
}

export function message(conversationId: string, seq: number, senderId = 'c'): object {
  const payload = { id: `${conversationId}.m${seq}`, seq, sender_id: senderId };
  return { type: 'message.new', conversation_id: conversationId, payload };
}

export function asked(request: OwnerRequestRecord | undefined): Record<string, unknown> {
  return JSON.parse(request?.body ?? '') as Record<string, unknown>;
}

export const group = (id: string, lastSeq: number): object => ({
  conversation_id: id,
  type: 'group',
  title: `Title of ${id}`,
  last_seq: lastSeq,
});
export const direct = (id: string, peerId: string, lastSeq: number): object => ({
  conversation_id: id,
  type: 'direct',
  peer_id: peerId,
  last_seq: lastSeq,
});

/** Pages of these events. */
export function inPages(conversations: object[], events: object[], pageSize: number): (request: OwnerRequestRecord) => OwnerReply {
  return (request) => {
    const page = Number(asked(request)['page'] ?? 0);
    const next = (page + 1) * pageSize < events.length ? { next_page: String(page + 1) } : {};
    return { body: { conversations, events: events.slice(page * pageSize, (page + 1) * pageSize), ...next } };
  };
}

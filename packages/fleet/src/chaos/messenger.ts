import { FaultyServer, type OwnerAnswer, type OwnerRequest } from '../tools/faulty-server.js';
import type { Expected } from './application.js';
import { type Conversation, conversationsOf, type Population } from './population.js';

/** An event as the messenger keeps it and puts it on the bus. */
export interface MessengerEvent {
  readonly type: 'message.new' | 'message.edited';
  readonly conversationId: string;
  readonly eventId: string;
  readonly payload: Readonly<Record<string, string | number>>;
}

interface StoredMessage {
  readonly event: MessengerEvent;
  readonly id: string;
  version: number;
}

interface StoredEdit {
  readonly event: MessengerEvent;
  /** Unix ms. */
  readonly atMs: number;
}

/** Small, so that a sync after an outage takes several. */
const pageEvents = 40;

/**
 * The messenger of a run: it numbers messages, keeps them before anybody puts them on the bus, and answers what gateways ask of it.
 * What it keeps is the truth that clients are compared with.
 */
export class Messenger {
  readonly server = new FaultyServer((request) => this.#answer(request));
  readonly #population: Population;
  /** Messages by conversation, in the order of their seqs, from 1. */
  readonly #messages = new Map<string, StoredMessage[]>();
  readonly #edits = new Map<string, StoredEdit[]>();

  constructor(population: Population) {
    this.#population = population;
  }

  /** Requests for a sync so far, pages included. */
  get syncRequests(): number {
    return this.server.count('/internal/sync');
  }

  get messageCount(): number {
    return [...this.#messages.values()].reduce((sum, messages) => sum + messages.length, 0);
  }

  write({ id: conversationId, participants }: Conversation): MessengerEvent {
    const messages = listOf(this.#messages, conversationId);
    const seq = messages.length + 1;
    const id = `${conversationId}#${seq}`;
    const senderId = participants[seq % participants.length] ?? '';
    const payload = { id, seq, sender_id: senderId, text: `Message ${seq} in ${conversationId}` };
    const event: MessengerEvent = { type: 'message.new', conversationId, eventId: `new-${id}`, payload };
    messages.push({ event, id, version: 0 });
    return event;
  }

  /** Changes the n-th message of that conversation (modulo their number); undefined while there is none. */
  edit({ id: conversationId }: Conversation, n: number): MessengerEvent | undefined {
    const messages = listOf(this.#messages, conversationId);
    const message = messages[n % Math.max(1, messages.length)];
    if (message === undefined) return undefined;
    message.version++;
    const { id, version } = message;
    const payload = { id, version, text: `Version ${version} of ${id}` };
    const event: MessengerEvent = { type: 'message.edited', conversationId, eventId: `edit-${id}-${version}`, payload };
    listOf(this.#edits, conversationId).push({ event, atMs: Date.now() });
    return event;
  }

  /** What that user must have in the end. */
  expected(userId: string): Expected {
    const own = conversationsOf(this.#population, userId);
    const messages = own.flatMap(({ id }) => listOf(this.#messages, id));
    return {
      lastSeqs: new Map(own.map(({ id }) => [id, listOf(this.#messages, id).length])),
      versions: new Map(messages.filter(({ version }) => version > 0).map(({ id, version }) => [id, version])),
    };
  }

  #answer({ method, path, body }: OwnerRequest): OwnerAnswer {
    if (method === 'POST' && path === '/internal/sync') return { status: 200, body: this.#sync(readSyncRequest(body)) };
    const id = /^\/internal\/conversations\/(.+)\/card$/.exec(path)?.[1];
    const conversation = this.#population.conversations.find((one) => one.id === id);
    if (conversation === undefined) return { status: 404, body: { error: { code: 'not_found', message: 'no such conversation' } } };
    return {
      status: 200,
      body: { conversation_id: id, type: conversation.type, ...titleOf(conversation), participants: conversation.participants },
    };
  }

  #sync({ userId, lastSeqs, sinceMs, page }: SyncRequest): unknown {
    const own = conversationsOf(this.#population, userId);
    const events: MessengerEvent[] = [];
    // A page's token is a place, not a count of events: messages that are written meanwhile shift nothing.
    for (let index = page.index; index < own.length; index++) {
      const id = own[index]?.id ?? '';
      const from = Math.max(lastSeqs.get(id) ?? 0, index === page.index ? page.seq : 0);
      const unread = listOf(this.#messages, id).slice(from, from + pageEvents - events.length);
      events.push(...unread.map(({ event }) => event));
      if (events.length === pageEvents) return this.#page(userId, own, events, `${index}:${from + unread.length}`);
    }
    const edits = own.flatMap(({ id }) => listOf(this.#edits, id)).filter(({ atMs }) => sinceMs !== undefined && atMs >= sinceMs);
    return this.#page(userId, own, [...events, ...edits.map(({ event }) => event)], undefined);
  }

  #page(userId: string, own: readonly Conversation[], events: readonly MessengerEvent[], nextPage: string | undefined): unknown {
    return {
      conversations: own.map((conversation) => ({
        conversation_id: conversation.id,
        type: conversation.type,
        ...titleOf(conversation),
        ...(conversation.type === 'direct' ? { peer_id: conversation.participants.find((id) => id !== userId) } : {}),
        last_seq: listOf(this.#messages, conversation.id).length,
      })),
      events: events.map(({ type, conversationId, eventId, payload }) => ({
        type,
        conversation_id: conversationId,
        event_id: eventId,
        payload,
      })),
      ...(nextPage === undefined ? {} : { next_page: nextPage }),
    };
  }
}

interface SyncRequest {
  readonly userId: string;
  readonly lastSeqs: ReadonlyMap<string, number>;
  readonly sinceMs: number | undefined;
  /** Where the page begins: behind this seq of the conversation with this index. */
  readonly page: { readonly index: number; readonly seq: number };
}

function readSyncRequest(body: unknown): SyncRequest {
  const fields = new Map<string, unknown>(Object.entries(body ?? {}));
  const lastSeqs = Object.entries(fields.get('conversations') ?? {}).map(([id, seq]) => [id, Number(seq)] as const);
  const [page, sinceMs] = [fields.get('page'), fields.get('since_ms')];
  const [index = 0, seq = 0] = typeof page === 'string' ? page.split(':').map(Number) : [];
  return {
    userId: String(fields.get('user_id')),
    lastSeqs: new Map(lastSeqs),
    sinceMs: typeof sinceMs === 'number' ? sinceMs : undefined,
    page: { index, seq },
  };
}

function titleOf({ id, type }: Conversation): { title?: string } {
  return type === 'group' ? { title: `Title of ${id}` } : {};
}

function listOf<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

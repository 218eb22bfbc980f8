/**
 * The gateway and its messenger as the contract describes them, without sockets, time or Redis: what the SDK is tested against.
 * Frames to a connection queue up until they are delivered, so that a cut loses what is on the way.
 */
export interface ModelSocket {
  frame(frame: object): void;
  close(code: number): void;
}

interface TruthMessage {
  readonly id: string;
  readonly seq: number;
  text: string;
  isDeleted: boolean;
}

interface Change {
  readonly time: number;
  readonly frame: object;
}

interface SyncRequest {
  readonly conversations: Record<string, number>;
  readonly cursor?: string;
  readonly next?: string;
  readonly ref?: string;
}

interface Page {
  readonly events: { readonly frame: object; readonly conversation: string; readonly seq: number | undefined }[];
  readonly reached: Map<string, number>;
}

/** Changes are asked for since a minute before the cursor: a few come again. */
const CHANGES_SLACK = 3;
const FIRST_POSITION = 1_000_000;

export class ModelConnection {
  readonly #gateway: ModelGateway;
  readonly #isImmediate: boolean;
  readonly socket: ModelSocket;
  readonly queue: object[] = [];
  isOpen = true;
  /** A sync that was asked and not answered yet, with the cursor from before the messenger was asked. */
  asked: { readonly request: SyncRequest; readonly cursor: string | null } | undefined;

  /** `isImmediate`: frames are delivered as they come. */
  constructor(gateway: ModelGateway, socket: ModelSocket, isImmediate: boolean) {
    this.#gateway = gateway;
    this.#isImmediate = isImmediate;
    this.socket = socket;
  }

  push(frame: object): void {
    if (this.isOpen) this.queue.push(frame);
    if (this.#isImmediate) this.deliver();
  }

  deliver(count = Number.POSITIVE_INFINITY): void {
    for (let delivered = 0; delivered < count && this.isOpen; delivered++) {
      const frame = this.queue.shift();
      if (frame === undefined) return;
      this.socket.frame(frame);
    }
  }

  receive(frame: Record<string, unknown>): void {
    if (frame['type'] === 'ping') this.push({ type: 'pong', cursor: this.#gateway.cursor });
    if (frame['type'] !== 'sync') return;
    this.#gateway.syncRequests += 1;
    const request = frame as unknown as SyncRequest;
    if (this.asked === undefined) this.asked = { request, cursor: this.#gateway.cursor };
    else this.push({ type: 'error', error: { code: 'sync_in_progress', message: 'one at a time', ref: request.ref } });
  }

  /** The messenger answers (or fails to). */
  answer(): void {
    const asked = this.asked;
    this.asked = undefined;
    if (asked !== undefined && this.isOpen) this.#gateway.answer(this, asked.request, asked.cursor);
  }

  cut(code = 1006): void {
    this.queue.length = 0;
    this.isOpen = false;
    this.#gateway.connections.delete(this);
    this.socket.close(code);
  }

  /** The client has closed it. */
  gone(): void {
    this.isOpen = false;
    this.#gateway.connections.delete(this);
  }
}

export class ModelGateway {
  readonly isPubSub: boolean;
  readonly hasEventIds: boolean;
  /** Events per sync, before it says `has_more`. */
  pageEvents = 1_000;
  hasNextToken = true;
  isMessengerDown = false;
  syncRequests = 0;
  heartbeatMs = 20_000;
  readonly connections = new Set<ModelConnection>();
  readonly truth = new Map<string, TruthMessage[]>();
  readonly #changes: Change[] = [];
  readonly #stream: { readonly position: number; readonly frame: object }[] = [];
  readonly #pages = new Map<string, Page>();
  #position = FIRST_POSITION;
  #flushes = 0;
  /** When a position was the newest: ids start low again after a flush, time does not. */
  readonly #times = new Map<number, number>();
  #time = 0;
  /** Nothing before this can be resumed from. */
  #tailStart = FIRST_POSITION;
  #eventCount = 0;

  constructor(options: { isPubSub?: boolean; hasEventIds?: boolean } = {}) {
    this.isPubSub = options.isPubSub ?? false;
    this.hasEventIds = options.hasEventIds ?? true;
    this.#advance(FIRST_POSITION);
  }

  get cursor(): string | null {
    return this.isPubSub ? null : `${this.#position}-0`;
  }

  connect(socket: ModelSocket, cursor: string | null, userId = 'u1', isImmediate = false): ModelConnection {
    const connection = new ModelConnection(this, socket, isImmediate);
    this.connections.add(connection);
    const position = cursor === null || this.isPubSub ? undefined : Number(cursor.split('-')[0]);
    const isResumed = position !== undefined && position >= this.#tailStart && position <= this.#position;
    const ids = { connection_id: `k${this.#eventCount}`, replica_id: 'r1', user_id: userId };
    connection.push({
      type: 'hello',
      ...ids,
      heartbeat_ms: this.heartbeatMs,
      resumed: isResumed,
      cursor: isResumed ? cursor : this.cursor,
    });
    if (isResumed) for (const entry of this.#stream) if (entry.position > position) connection.push(entry.frame);
    if (position !== undefined && !isResumed) connection.push(this.#syncRequired('cursor_unknown'));
    return connection;
  }

  // --- what happens in the messenger

  newMessage(conversation: string): object {
    const messages = this.truth.get(conversation) ?? [];
    this.truth.set(conversation, messages);
    const seq = messages.length + 1;
    const message = { id: `${conversation}.m${seq}`, seq, text: `v0`, isDeleted: false };
    messages.push(message);
    return this.#messageFrame(conversation, message);
  }

  edit(conversation: string, seq: number): object | undefined {
    const message = this.truth.get(conversation)?.[seq - 1];
    if (message === undefined || message.isDeleted) return undefined;
    message.text = `v${Number(message.text.slice(1)) + 1}`;
    return this.#change({ type: 'message.edited', conversation_id: conversation, message: { id: message.id, text: message.text } });
  }

  remove(conversation: string, seq: number): object | undefined {
    const message = this.truth.get(conversation)?.[seq - 1];
    if (message === undefined || message.isDeleted) return undefined;
    message.isDeleted = true;
    return this.#change({ type: 'message.deleted', conversation_id: conversation, message: { id: message.id } });
  }

  // --- what happens on the stream

  publish(frame: object): void {
    this.#advance(this.#position + 1);
    const entry = { position: this.#position, frame: { ...frame, cursor: this.cursor } };
    this.#stream.push(entry);
    for (const connection of this.connections) connection.push(entry.frame);
  }

  /** Everything since `publish` was last called is gone from the stream, and the gateway knows it. */
  gap(reason = 'gap'): void {
    this.#advance(this.#position + 1);
    this.trim();
    for (const connection of this.connections) connection.push(this.#syncRequired(reason));
  }

  /** No replica has a tail any more: nobody can resume from anything but the newest. */
  trim(): void {
    this.#tailStart = this.#position;
    this.#stream.length = 0;
  }

  /** The stream was deleted: ids start low again. */
  flush(): void {
    this.#flushes += 1;
    this.#advance(FIRST_POSITION - this.#flushes * 1_000);
    this.gap();
  }

  answer(connection: ModelConnection, request: SyncRequest, cursor: string | null): void {
    if (this.isMessengerDown) {
      const error = { code: 'sync_unavailable', message: 'the messenger is down', retry_after_ms: 1_000, ref: request.ref };
      return connection.push({ type: 'error', error });
    }
    const page = this.#pages.get(request.next ?? '') ?? this.#firstPage(request);
    this.#pages.delete(request.next ?? '');
    // Without a token the client starts over from its seqs, which say nothing of changes: they come whole, each time.
    const changes = this.hasNextToken ? 0 : page.events.filter(({ conversation }) => conversation === '').length;
    const events = page.events.splice(0, this.pageEvents + changes);
    // Nor do they say that a message's deletion is still to come.
    while (page.events[0] !== undefined && page.events[0].seq === undefined && page.events[0].conversation !== '')
      events.push(...page.events.splice(0, 1));
    for (const { frame, conversation, seq } of events) {
      connection.push(frame);
      if (seq !== undefined) page.reached.set(conversation, seq);
    }
    const hasMore = page.events.length > 0;
    const next = `page${this.#eventCount++}`;
    if (hasMore && this.hasNextToken) this.#pages.set(next, page);
    connection.push({
      type: 'sync.complete',
      ref: request.ref,
      conversations: Object.fromEntries(page.reached),
      presence: [],
      has_more: hasMore,
      ...(hasMore && this.hasNextToken ? { next } : {}),
      cursor,
    });
  }

  #firstPage(request: SyncRequest): Page {
    const asked = request.cursor === undefined ? Number.NaN : Number(request.cursor.split('-')[0]);
    const since = (this.#times.get(asked) ?? Number.POSITIVE_INFINITY) - CHANGES_SLACK;
    const events: Page['events'] = [];
    const reached = new Map<string, number>();
    for (const [conversation, messages] of this.truth) {
      const lastSeq = request.conversations[conversation] ?? 0;
      reached.set(conversation, lastSeq);
      for (const message of messages.slice(lastSeq)) {
        events.push({ frame: this.#messageFrame(conversation, message), conversation, seq: message.seq });
        if (message.isDeleted) events.push({ frame: deletion(conversation, message), conversation, seq: undefined });
      }
    }
    const changes = this.#changes.filter(({ time }) => time > since).map(({ frame }) => ({ frame, conversation: '', seq: undefined }));
    return { events: this.hasNextToken ? [...events, ...changes] : [...changes, ...events], reached };
  }

  #messageFrame(conversation: string, { id, seq, text }: TruthMessage): object {
    return { type: 'message.new', conversation_id: conversation, message: { id, seq, text, sender_id: 'u2' } };
  }

  #change(frame: object): object {
    const withId = this.hasEventIds ? { ...frame, event_id: `e${this.#eventCount++}` } : frame;
    this.#time += 1;
    this.#changes.push({ time: this.#time, frame: withId });
    return withId;
  }

  #advance(position: number): void {
    this.#position = position;
    this.#time += 1;
    this.#times.set(position, this.#time);
  }

  #syncRequired(reason: string): object {
    return { type: 'sync.required', reason, cursor: this.cursor, after_ms: 500 };
  }
}

function deletion(conversation: string, { id }: TruthMessage): object {
  return { type: 'message.deleted', conversation_id: conversation, message: { id } };
}

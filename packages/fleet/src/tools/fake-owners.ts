import { FaultyServer, type OwnerAnswer, type OwnerRequest } from './faulty-server.js';
import { TokenIssuer } from './token-issuer.js';

export interface FakeConversation {
  readonly conversation_id: string;
  readonly type: 'direct' | 'group';
  readonly title?: string;
  readonly avatar_url?: string;
  readonly participants: readonly string[];
}

export interface FakeUser {
  readonly user_id: string;
  readonly display_name: string;
  readonly avatar_url?: string;
}

export interface StoredEvent {
  readonly type: string;
  readonly conversation_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

const notFound: OwnerAnswer = { status: 404, body: { error: { code: 'not_found', message: 'no such thing' } } };

/**
 * The three owners that a gateway talks to, for tests that want to decide every answer: login keys, user cards, conversation cards
 * and sync. A user that nobody named has a card anyway (`Name of <id>`), a conversation that nobody made is a 404.
 */
export class FakeOwners {
  readonly issuer: TokenIssuer;
  readonly jwks = new FaultyServer(() => ({ status: 200, body: this.issuer.jwks() }));
  readonly userService = new FaultyServer((request) => this.#answerUserService(request));
  readonly messenger = new FaultyServer((request) => this.#answerMessenger(request));
  /** `undefined` as a value: this user does not exist. */
  readonly users = new Map<string, FakeUser | undefined>();
  readonly conversations = new Map<string, FakeConversation>();
  /** What the messenger keeps of each conversation, oldest first; `message.new` carries its seq in `payload.seq`. */
  readonly history = new Map<string, StoredEvent[]>();
  /** Most events in one page of a sync. */
  syncPageEvents = 1000;

  private constructor(issuer: TokenIssuer) {
    this.issuer = issuer;
  }

  static async start(issuer = new TokenIssuer()): Promise<FakeOwners> {
    const owners = new FakeOwners(issuer);
    await Promise.all([owners.jwks.start(), owners.userService.start(), owners.messenger.start()]);
    return owners;
  }

  /** The variables that point a replica at these owners. */
  environment(): Record<string, string> {
    return {
      JWKS_URL: `${this.jwks.url}/.well-known/jwks.json`,
      JWT_ISSUER: this.issuer.issuer,
      JWT_AUDIENCE: this.issuer.audience,
      USER_SERVICE_URL: this.userService.url,
      MESSENGER_URL: this.messenger.url,
    };
  }

  name(userId: string, displayName: string): void {
    this.users.set(userId, { user_id: userId, display_name: displayName });
  }

  group(conversationId: string, participants: readonly string[], title = `Title of ${conversationId}`): void {
    this.conversations.set(conversationId, { conversation_id: conversationId, type: 'group', title, participants });
  }

  direct(conversationId: string, one: string, other: string): void {
    this.conversations.set(conversationId, { conversation_id: conversationId, type: 'direct', participants: [one, other] });
  }

  /** Keeps an event, so that a sync can return it. */
  store(event: StoredEvent): void {
    const { type, conversation_id, payload } = event;
    this.history.set(conversation_id, [...(this.history.get(conversation_id) ?? []), { type, conversation_id, payload }]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.jwks.stop(), this.userService.stop(), this.messenger.stop()]);
  }

  #answerUserService({ path }: OwnerRequest): OwnerAnswer {
    const id = /^\/internal\/users\/(.+)\/card$/.exec(path)?.[1];
    if (id === undefined) return notFound;
    const card = this.users.has(id) ? this.users.get(id) : { user_id: id, display_name: `Name of ${id}` };
    return card === undefined ? notFound : { status: 200, body: card };
  }

  #answerMessenger({ method, path, body }: OwnerRequest): OwnerAnswer {
    if (method === 'POST' && path === '/internal/sync') return { status: 200, body: this.#sync(body) };
    const id = /^\/internal\/conversations\/(.+)\/card$/.exec(path)?.[1];
    const card = id === undefined ? undefined : this.conversations.get(id);
    return card === undefined ? notFound : { status: 200, body: card };
  }

  #sync(body: unknown): unknown {
    const { userId, known, from } = readSyncRequest(body);
    const own = [...this.conversations.values()].filter(({ participants }) => participants.includes(userId));
    const events = own.flatMap(({ conversation_id }) =>
      (this.history.get(conversation_id) ?? []).filter((event) => seqOf(event) > (known.get(conversation_id) ?? 0)),
    );
    const until = from + this.syncPageEvents;
    return {
      conversations: own.map((card) => this.#syncedConversation(card, userId)),
      events: events.slice(from, until),
      ...(until < events.length ? { next_page: String(until) } : {}),
    };
  }

  #syncedConversation({ conversation_id, type, title, participants }: FakeConversation, viewer: string): unknown {
    const lastSeq = Math.max(0, ...(this.history.get(conversation_id) ?? []).map(seqOf));
    const peer = type === 'direct' ? participants.find((id) => id !== viewer) : undefined;
    return {
      conversation_id,
      type,
      ...(title === undefined ? {} : { title }),
      ...(peer === undefined ? {} : { peer_id: peer }),
      last_seq: lastSeq,
    };
  }
}

function readSyncRequest(body: unknown): { userId: string; known: Map<string, number>; from: number } {
  const fields = new Map<string, unknown>(Object.entries(body ?? {}));
  const known = Object.entries(fields.get('conversations') ?? {}).map(([id, seq]) => [id, Number(seq)] as const);
  return { userId: String(fields.get('user_id')), known: new Map(known), from: Number(fields.get('page') ?? 0) };
}

function seqOf({ payload }: StoredEvent): number {
  return typeof payload['seq'] === 'number' ? payload['seq'] : 0;
}

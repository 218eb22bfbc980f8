import { Messenger } from './api.js';

/** When this page posted what, by client id: what makes "14 ms" of a message that arrives. */
const postedAtMs = new Map();

/** One person: a socket at the gateway, the messenger's API, and what has arrived. Tells `onChange` about every difference. */
export class Person {
  userId;
  name;
  avatarUrl;
  conversations = [];
  /** Names of others, as the cards on the frames say. */
  names = new Map();
  replicaId = undefined;
  counts = { resumed: 0, synced: 0, reconnected: 0 };
  current = undefined;
  failure = undefined;
  #messages = new Map();
  #receipts = new Map();
  #messenger;
  #client;
  #onChange;

  /** @param newClient makes a GatewayClient of the options that are this person's own */
  constructor(userId, newClient, onChange) {
    this.userId = userId;
    this.name = userId;
    this.#messenger = new Messenger(userId);
    this.#onChange = onChange;
    this.#client = newClient({ token: (request) => this.#messenger.token(request) });
    this.#listen();
  }

  get status() {
    return this.#client.status;
  }

  async start() {
    await this.#loadProfile();
    await this.#loadConversations();
    this.current = this.conversations[0]?.conversation_id;
    this.#client.connect();
    this.#onChange();
  }

  /** In seq order. */
  messagesOf(conversationId) {
    return [...(this.#messages.get(conversationId)?.values() ?? [])].sort((one, other) => one.seq - other.seq);
  }

  /** The highest seq that has arrived. */
  lastSeqOf(conversationId) {
    return this.messagesOf(conversationId).at(-1)?.seq ?? 0;
  }

  /** How many messages up to `seq` have not arrived, not counting those from before the first that has. */
  missingIn(conversationId, seq) {
    const messages = this.messagesOf(conversationId);
    return messages.length === 0 ? 0 : Math.max(0, seq - messages[0].seq + 1 - messages.length);
  }

  /** How far anybody else has read. */
  readByOthers(conversationId) {
    return Math.max(0, ...(this.#receipts.get(conversationId)?.values() ?? []));
  }

  unreadIn(conversationId) {
    const read = this.#receipts.get(`mine ${conversationId}`) ?? 0;
    return this.messagesOf(conversationId).filter((message) => message.seq > read && message.sender_id !== this.userId).length;
  }

  presenceOf(userId) {
    return this.#client.presence.of(userId)?.status ?? 'unknown';
  }

  typingIn(conversationId) {
    return this.#client.typingIn(conversationId).map(({ user_id, user_name }) => user_name ?? user_id);
  }

  open(conversationId) {
    this.current = conversationId;
    this.#read();
    this.#onChange();
  }

  /** The client does so by itself as soon as it notices that something is missing; this is for the impatient. */
  sync() {
    this.#client.sync();
  }

  typing() {
    this.#client.typing(this.current);
  }

  post(text) {
    const clientId = crypto.randomUUID();
    postedAtMs.set(clientId, performance.now());
    return this.#try('POST', `${this.#path()}/messages`, { text, client_id: clientId });
  }

  edit(messageId, text) {
    return this.#try('PATCH', `${this.#path()}/messages/${messageId}`, { text });
  }

  delete(messageId) {
    return this.#try('DELETE', `${this.#path()}/messages/${messageId}`);
  }

  toggleReaction(message, emoji) {
    const isMine = message.reactions.has(`${this.userId} ${emoji}`);
    return this.#try(isMine ? 'DELETE' : 'PUT', `${this.#path()}/messages/${message.id}/reactions/${encodeURIComponent(emoji)}`);
  }

  rename(name) {
    return this.#try('PATCH', '/api/me', { display_name: name });
  }

  retitle(title) {
    return this.#try('PATCH', this.#path(), { title });
  }

  #path() {
    return `/api/conversations/${encodeURIComponent(this.current)}`;
  }

  async #try(method, path, body) {
    try {
      this.failure = undefined;
      return await this.#messenger.ask(method, path, body);
    } catch (error) {
      this.failure = error.message;
      this.#onChange();
    }
  }

  #listen() {
    const client = this.#client;
    client.on('status', () => this.#onChange());
    client.on('hello', ({ replica_id, resumed }) => {
      if (this.replicaId !== undefined) this.counts.reconnected++;
      if (resumed) this.counts.resumed++;
      this.replicaId = replica_id;
      this.#onChange();
    });
    client.on('synced', () => {
      this.counts.synced++;
      this.#read();
      this.#onChange();
    });
    client.on('presence', () => this.#onChange());
    client.on('typing', () => this.#onChange());
    client.on('message', (frame, origin) => this.#arrived(frame, origin));
    client.on('message.edited', ({ conversation_id, message }) => this.#change(conversation_id, message.id, { ...message, edited: true }));
    client.on('message.deleted', ({ conversation_id, message }) =>
      this.#change(conversation_id, message.id, { text: '', deleted: true, reactions: new Set() }),
    );
    client.on('reaction.added', ({ conversation_id, data }) => this.#react(conversation_id, data, true));
    client.on('reaction.removed', ({ conversation_id, data }) => this.#react(conversation_id, data, false));
    client.on('receipt.read', ({ conversation_id, data }) => this.#readBy(conversation_id, data));
    client.on('user.updated', ({ data }) => this.#renamed(data));
    for (const type of ['conversation.created', 'conversation.updated', 'member.changed']) {
      client.on(type, () => this.#loadConversations().then(() => this.#onChange()));
    }
  }

  #arrived({ conversation_id, message, stale }, { source }) {
    const postedMs = postedAtMs.get(message.client_id);
    const tookMs = source === 'live' && postedMs !== undefined ? performance.now() - postedMs : undefined;
    const messages = this.#messages.get(conversation_id) ?? new Map();
    messages.set(message.id, { ...message, reactions: new Set(), deleted: message.deleted_at !== undefined, source, tookMs });
    this.#messages.set(conversation_id, messages);
    // A stale frame's name is a stopgap.
    if (!stale && message.sender_name !== undefined) this.names.set(message.sender_id, message.sender_name);
    if (conversation_id === this.current) this.#read();
    this.#onChange();
  }

  #change(conversationId, messageId, changes) {
    const messages = this.#messages.get(conversationId);
    const message = messages?.get(messageId);
    if (message !== undefined) messages.set(messageId, { ...message, ...changes, seq: message.seq });
    this.#onChange();
  }

  #react(conversationId, { message_id, user_id, emoji }, isThere) {
    const reactions = this.#messages.get(conversationId)?.get(message_id)?.reactions;
    if (isThere) reactions?.add(`${user_id} ${emoji}`);
    else reactions?.delete(`${user_id} ${emoji}`);
    this.#onChange();
  }

  #readBy(conversationId, { user_id, seq }) {
    if (user_id === this.userId) this.#receipts.set(`mine ${conversationId}`, seq);
    else this.#receipts.set(conversationId, (this.#receipts.get(conversationId) ?? new Map()).set(user_id, seq));
    this.#onChange();
  }

  #renamed({ user_id, display_name }) {
    this.names.set(user_id, display_name);
    if (user_id === this.userId) this.name = display_name;
    this.#onChange();
  }

  /** Tells the messenger that everything in the open conversation has been seen. */
  #read() {
    const seq = this.lastSeqOf(this.current);
    const mine = `mine ${this.current}`;
    if (seq <= (this.#receipts.get(mine) ?? 0)) return;
    this.#receipts.set(mine, seq);
    void this.#try('POST', `${this.#path()}/read`, { seq });
  }

  async #loadProfile() {
    const { display_name, avatar_url } = await this.#messenger.ask('GET', '/api/me');
    const { users } = await this.#messenger.ask('GET', '/api/users');
    this.name = display_name;
    this.avatarUrl = avatar_url;
    this.names = new Map(users.map((user) => [user.user_id, user.display_name]));
  }

  async #loadConversations() {
    const { conversations } = await this.#messenger.ask('GET', '/api/conversations');
    this.conversations = conversations;
    for (const { conversation_id: id } of conversations) {
      const { receipts } = await this.#messenger.ask('GET', `/api/conversations/${encodeURIComponent(id)}`);
      for (const receipt of receipts) if (receipt.kind === 'read') this.#readBy(id, receipt);
    }
  }
}

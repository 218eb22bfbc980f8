import { Publisher } from '@event-gateway/publisher';
import { createCommandConnection } from '@event-gateway/redis';
import { type Clock, type Component, type Logger, Supervisor } from '@event-gateway/runtime';
import type { SandboxConfig } from './config.js';
import { seedDemo } from './demo-seed.js';
import { HttpServer } from './http/http-server.js';
import { type Route, Router } from './http/router.js';
import { Conversations } from './messenger/conversations.js';
import { EventRecorder } from './messenger/event-recorder.js';
import { Messages } from './messenger/messages.js';
import { Receipts } from './messenger/receipts.js';
import { Users } from './messenger/users.js';
import { OutboxPublisher } from './outbox/outbox-publisher.js';
import { adminRoutes } from './routes/admin-routes.js';
import { conversationRoutes } from './routes/conversation-routes.js';
import { demoRoutes } from './routes/demo-routes.js';
import { healthRoutes } from './routes/health-routes.js';
import { loginRoutes } from './routes/login-routes.js';
import { messageRoutes } from './routes/message-routes.js';
import { ownerRoutes } from './routes/owner-routes.js';
import { pageRoutes } from './routes/page-routes.js';
import { profileRoutes } from './routes/profile-routes.js';
import { UserRoutes } from './routes/user-routes.js';
import { ChangeStore } from './store/change-store.js';
import { ConversationStore } from './store/conversation-store.js';
import { Database } from './store/database.js';
import { KeyStore } from './store/key-store.js';
import { MessageStore } from './store/message-store.js';
import { OutboxStore } from './store/outbox-store.js';
import { ReceiptStore } from './store/receipt-store.js';
import { UserStore } from './store/user-store.js';
import { WalkStore } from './store/walk-store.js';
import { Sync } from './sync/sync.js';
import { SigningKeys } from './tokens/signing-keys.js';
import { TokenIssuer } from './tokens/token-issuer.js';

const commandTimeoutMs = 2000;
const maxBodyBytes = 64 * 1024;
/** Between two pages of a sync a client may lose its connection and come back. */
const walkTtlMs = 600_000;
/** On top of a token's life: clocks differ, and a JWKS document is cached. */
const keyMarginMs = 120_000;

export interface Sandbox {
  readonly supervisor: Supervisor;
  readonly http: HttpServer;
}

/** The one place that knows what the sandbox is made of. */
export function composeSandbox(config: SandboxConfig, clock: Clock, logger: Logger): Sandbox {
  const database = new Database(config.DATABASE_FILE);
  const conversationStore = new ConversationStore(database);
  const userStore = new UserStore(database);
  const messageStore = new MessageStore(database);
  const changes = new ChangeStore(database);
  const outbox = new OutboxStore(database);

  const recorder = new EventRecorder(outbox, changes);
  const users = new Users(database, userStore, recorder, clock);
  const conversations = new Conversations(database, conversationStore, userStore, recorder, clock);
  const messages = new Messages(database, conversationStore, messageStore, recorder, clock);
  const receipts = new Receipts(database, conversationStore, new ReceiptStore(database), recorder, clock);
  const sync = new Sync({ conversations: conversationStore, messages: messageStore, changes, walks: new WalkStore(database) }, clock, {
    pageEvents: config.SYNC_PAGE_EVENTS,
    windowMessages: config.SYNC_WINDOW_MESSAGES,
    walkTtlMs,
  });

  const keys = new SigningKeys(new KeyStore(database), clock, config.TOKEN_TTL_S * 1000 + keyMarginMs);
  const tokens = new TokenIssuer(keys, { issuer: config.ISSUER, audience: config.AUDIENCE, ttlS: config.TOKEN_TTL_S });
  const api = new UserRoutes(tokens);
  const routes: Route[] = [
    ...loginRoutes(users, tokens, keys, config.TOKEN_TTL_S),
    ...profileRoutes(api, users),
    ...conversationRoutes(api, conversations, receipts),
    ...messageRoutes(api, messages),
    ...ownerRoutes(users, conversationStore, sync, config.OWNER_TOKEN),
    ...adminRoutes(users, keys, config.ADMIN_TOKEN),
    ...demoRoutes({
      gatewayWsUrl: config.GATEWAY_WS_URL,
      replicaStatusUrls: config.REPLICA_STATUS_URLS ?? [],
      internalToken: config.INTERNAL_TOKEN,
      controlUrl: config.DEMO_CONTROL_URL,
    }),
    ...pageRoutes({
      page: new URL('../public/', import.meta.url),
      client: new URL('.', import.meta.resolve('@event-gateway/client')),
    }),
    ...healthRoutes(outbox),
  ];
  const http = new HttpServer(new Router(routes), logger, { host: config.HOST, port: config.PORT, maxBodyBytes });

  const redis = createCommandConnection({ url: config.REDIS_URL, commandTimeoutMs }, clock, logger, 'sandbox.publisher');
  const publisher = new Publisher(redis, {
    stream: config.EVENT_STREAM,
    maxEntries: config.STREAM_MAX_ENTRIES,
    fanout: config.FANOUT,
  });
  const storage: Component = { name: 'database', start: () => database.open(), stop: () => database.close() };
  const connection: Component = { name: 'redis', start: () => redis.start(), stop: () => redis.stop() };
  const seed: Component = { name: 'demo seed', start: () => (config.SEED_DEMO ? seedDemo(users, conversations, messages) : undefined) };
  const outboxPublisher = new OutboxPublisher(database, outbox, publisher, clock, logger);
  return { http, supervisor: new Supervisor([storage, connection, keys, seed, outboxPublisher, http], clock, logger) };
}

import { randomBytes } from 'node:crypto';
import { encodeControlMessage, type StreamId } from '@event-gateway/protocol';
import { channels, RedisConnections } from '@event-gateway/redis';
import { type Component, type ComposedProcess, createLogger, type Logger, Metrics, Supervisor, systemClock } from '@event-gateway/runtime';
import { CachedCards } from './cards/cached-cards.js';
import { CardsMetrics } from './cards/cards-metrics.js';
import { CardInvalidation } from './cards/invalidation.js';
import { Owners } from './cards/owners.js';
import { Resume } from './catchup/resume.js';
import { ResumeMetrics } from './catchup/resume-metrics.js';
import { Sync } from './catchup/sync.js';
import { SyncMetrics } from './catchup/sync-metrics.js';
import { TailScan } from './catchup/tail-scan.js';
import { closingShare, configWarnings, drainWindowMs, type GatewayConfig, transportOptions } from './config.js';
import { DeadLetters } from './fanout/dead-letter.js';
import type { EventSource } from './fanout/event-source.js';
import { Fanout } from './fanout/fanout.js';
import { FanoutMetrics } from './fanout/fanout-metrics.js';
import { PubsubSource } from './fanout/pubsub-source.js';
import { noFence } from './fanout/stream/ports.js';
import { type Lag, StreamMetrics } from './fanout/stream/stream-metrics.js';
import { StreamHistory } from './fanout/stream-history.js';
import { StreamSource } from './fanout/stream-source.js';
import { Admission } from './handshake/admission.js';
import { Authenticator } from './handshake/authenticate.js';
import { Door } from './handshake/door.js';
import { HandshakeMetrics } from './handshake/handshake-metrics.js';
import { JwksKeys } from './handshake/jwks-keys.js';
import { fetchJwks } from './handshake/jwks-source.js';
import { boundedMaxConnections } from './handshake/max-connections.js';
import { TokenExpiry } from './handshake/token-expiry.js';
import type { Refusal } from './handshake/refusal.js';
import { type Grant, Upgrade } from './handshake/upgrade.js';
import type { Connection } from './hub/connection.js';
import { Heartbeat } from './hub/heartbeat.js';
import { Hub } from './hub/hub.js';
import { HubMetrics } from './hub/hub-metrics.js';
import { SlowWatch } from './hub/slow-watch.js';
import { Inbound } from './inbound/inbound.js';
import { InboundMetrics } from './inbound/inbound-metrics.js';
import { Control } from './internal-api/control.js';
import { InternalApi } from './internal-api/internal-api.js';
import { Canary } from './lifecycle/canary.js';
import { CanaryMetrics } from './lifecycle/canary-metrics.js';
import { Drain } from './lifecycle/drain.js';
import { LoopLag } from './lifecycle/loop-lag.js';
import { Readiness, type ReadinessInputs } from './lifecycle/readiness.js';
import { declareReplicaMetrics } from './lifecycle/replica-metrics.js';
import { SubscriptionWatch } from './lifecycle/subscription-watch.js';
import { Presence } from './presence/presence.js';
import { Fence } from './replica/fence.js';
import { GroupJanitor } from './replica/group-janitor.js';
import { type ReplicaFigures, ReplicaRegistry } from './replica/registry.js';
import { RecentEvents } from './tail/recent-events.js';
import { type Acceptance, type HttpRefusal, UwsServer } from './transport/uws-server.js';
import { Typing } from './typing/typing.js';

/** What every room is given. */
interface House {
  readonly config: GatewayConfig;
  readonly clock: typeof systemClock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly redis: RedisConnections;
  readonly hub: Hub;
  readonly tail: RecentEvents;
  /** Of this process alone; two processes with one replica id differ in it. */
  readonly incarnation: string;
}

/** The one place that says `new`, in the order of the walks. */
export function compose(config: GatewayConfig): ComposedProcess {
  const house = composeHouse(config);
  const { clock, logger, redis, hub } = house;
  const cards = composeCards(house);
  const presence = composePresence(house, cards.cards);
  const walk = composeWalk(house, cards, presence);
  const drain = new Drain(
    { clock, connections: () => hub.connections(), cursorFor: (connection) => cursorFor(connection, walk.fanout) },
    { windowMs: drainWindowMs(config), reconnectJitterMs: config.RECONNECT_JITTER_MS },
  );
  const fencedOut = new AbortController();
  const bus = composeBus(
    house,
    walk.fanout,
    () => drain.isDraining,
    () => fencedOut.abort(),
  );
  const scan = new TailScan(house.tail, clock);
  const resume = composeResume(house, walk.fanout, scan, bus, cards.cards, presence);
  const handshake = composeHandshake(house, bus, drain);
  const door = composeDoor(house, walk.fanout, presence, resume);
  const typing = composeTyping(house, cards.cards);
  const inbound = composeInbound(house, { walk, door, handshake, typing, cards, presence });
  const toAnswer = (decided: Refusal | Grant): HttpRefusal | Acceptance => ('place' in decided ? door.acceptance(decided) : decided);
  const server = new UwsServer(
    {
      decide: (request) => {
        const decision = handshake.upgrade.decide(request);
        return decision instanceof Promise ? decision.then(toAnswer) : toAnswer(decision);
      },
      connectionCount: () => hub.connectionCount,
      onTurnedAway: () => handshake.metrics.refused('replica_full'),
      message: (connection, bytes, isBinary) => {
        connection.onActivity();
        inbound.onMessage(connection, bytes, isBinary);
      },
    },
    clock,
    transportOptions(config),
  );
  const internalApi = composeInternalApi(house, presence, bus, handshake);
  listen(house, cards.invalidation, presence, typing);
  declareMetrics(house, drain);
  const parts: Component[] = [internalApi, redis, handshake.jwks, { name: 'owners', stop: () => cards.owners.stop() }, walk.deadLetters];
  parts.push(bus.registry, bus.janitor, presence, scan, ...bus.readers, ...door.parts, handshake.loopLag, handshake.readiness);
  parts.push({ name: 'drain', drain: (deadlineMs) => drain.closeAll(AbortSignal.timeout(Math.floor(closingShare * deadlineMs))) }, server);
  for (const warning of configWarnings(config)) logger.warn({}, warning);
  return {
    supervisor: new Supervisor(parts, clock, logger),
    logger,
    drainDeadlineMs: config.DRAIN_DEADLINE_MS,
    onUp: () => logger.info({}, 'replica started'),
    fencedOut: fencedOut.signal,
  };
}

/** What a client has for certain; a socket that catches up is told nothing that it would then skip. */
function cursorFor(connection: Connection, fanout: Fanout): StreamId | null | undefined {
  return connection.isLive ? fanout.handled.id : undefined;
}

interface Walk {
  readonly fanout: Fanout;
  readonly deadLetters: DeadLetters;
}

function composeWalk(
  { config, clock, logger, metrics, redis, hub, tail }: House,
  { cards, invalidation }: CardRooms,
  presence: Presence,
): Walk {
  const deadLetters = new DeadLetters(redis.command, clock, logger, {
    stream: config.EVENT_STREAM,
    replicaId: config.REPLICA_ID,
    deadLetterMaxEntries: config.DEAD_LETTER_MAX_ENTRIES,
  });
  const fanout = new Fanout(
    {
      ...{ hub, tail, cards, invalidation, deadLetters, clock, logger },
      metrics: new FanoutMetrics(metrics),
      onDataLost: () => presence.onDataLost(),
    },
    { maxEntryBytes: config.MAX_ENTRY_BYTES },
  );
  return { fanout, deadLetters };
}

function composeResume(
  { config, clock, logger, metrics, redis, tail }: House,
  walk: Fanout,
  scan: TailScan,
  bus: Bus,
  cards: CachedCards,
  presence: Presence,
): Resume {
  const history = new StreamHistory(
    { redis: redis.command, source: bus.source, clock, logger },
    { stream: config.EVENT_STREAM, maxEntryBytes: config.MAX_ENTRY_BYTES },
  );
  return new Resume(
    { tail, scan, walk, history, cards, presence, metrics: new ResumeMetrics(metrics), clock, logger },
    { replicaId: config.REPLICA_ID, heartbeatMs: config.HEARTBEAT_MS, isPubsub: config.FANOUT === 'pubsub' },
  );
}

function composeTyping({ config, clock, logger, metrics, redis, hub }: House, cards: CachedCards): Typing {
  return new Typing({ hub, cards, redis: redis.command, metrics, clock, logger }, { intervalMs: config.TYPING_INTERVAL_MS });
}

interface Handshake {
  readonly jwks: JwksKeys;
  readonly authenticator: Authenticator;
  readonly readiness: Readiness;
  readonly loopLag: LoopLag;
  readonly upgrade: Upgrade;
  readonly metrics: HandshakeMetrics;
}

/** Everything that is decided before there is a socket. */
function composeHandshake({ config, clock, logger, metrics, redis, hub }: House, bus: Bus, drain: Drain): Handshake {
  const jwks = new JwksKeys(
    { fetchJwks: (signal) => fetchJwks(config.JWKS_URL, signal), clock, logger },
    { jwksCooldownMs: config.JWKS_COOLDOWN_MS },
  );
  const authenticator = new Authenticator(
    { keys: jwks, clock, logger },
    { jwtIssuer: config.JWT_ISSUER, jwtAudience: config.JWT_AUDIENCE, jwtLeewayS: config.JWT_LEEWAY_S },
  );
  const isDraining = (): boolean => drain.isDraining;
  const readiness = new Readiness(clock, {
    isJwksLoaded: () => jwks.isLoaded,
    sourceReasons: () => bus.source.unreadyReasons(),
    ...bus.arrival,
    isRedisUp: () => redis.isUp('command'),
    isSubscriberUp: () => redis.isUp('subscriber'),
    isFencedOut: () => bus.registry.isFencedOut,
    isDraining,
  });
  const loopLag = new LoopLag({ clock }, { maxLoopLagMs: config.MAX_LOOP_LAG_MS });
  const admission = new Admission(
    {
      clock,
      isDraining,
      hasBeenReady: () => readiness.hasBeenReady,
      connectionCount: () => hub.connectionCount,
      isLagging: () => loopLag.isLagging,
    },
    {
      maxConnections: boundedMaxConnections(config.MAX_CONNECTIONS, logger),
      upgradesPerSecond: config.UPGRADES_PER_SECOND,
      upgradesBurst: config.UPGRADES_BURST,
      allowedOrigins: config.ALLOWED_ORIGINS,
    },
  );
  const handshakeMetrics = new HandshakeMetrics(metrics);
  const upgrade = new Upgrade(admission, authenticator, handshakeMetrics);
  return { jwks, authenticator, readiness, loopLag, upgrade, metrics: handshakeMetrics };
}

interface InboundRooms {
  readonly walk: Walk;
  readonly door: FrontDoor;
  readonly handshake: Handshake;
  readonly typing: Typing;
  readonly cards: CardRooms;
  readonly presence: Presence;
}

/** Walk 2, and the sync that it can ask for. */
function composeInbound({ config, clock, logger, metrics }: House, rooms: InboundRooms): Inbound<Connection> {
  const { walk, door, handshake, typing, presence } = rooms;
  const { cards, owners } = rooms.cards;
  const sync = new Sync<Connection>(
    {
      ...{ messenger: owners, cards, presence, clock, logger },
      metrics: new SyncMetrics(metrics),
    },
    { maxPages: config.SYNC_MAX_PAGES, retryAfterMs: config.OWNER_BREAKER_OPEN_MS, jitterMs: config.SYNC_REQUIRED_JITTER_MS },
  );
  return new Inbound<Connection>(
    {
      ...{ clock, typing, sync },
      metrics: new InboundMetrics(metrics),
      auth: {
        authenticate: async (token) => handshake.authenticator.authenticate(token),
        renewExpiry: (connection, expiresAtMs) => door.expiry.watch(connection, expiresAtMs),
      },
      pongCursor: (connection) => cursorFor(connection, walk.fanout),
    },
    {
      maxFrameBytes: config.MAX_FRAME_BYTES,
      inboundFramesPerSecond: config.INBOUND_FRAMES_PER_SECOND,
      inboundBurst: config.INBOUND_BURST,
      inboundMaxDepth: config.INBOUND_MAX_DEPTH,
      inboundMaxViolations: config.INBOUND_MAX_VIOLATIONS,
    },
  );
}

function composeInternalApi(
  { config, logger, metrics, redis }: House,
  presence: Presence,
  bus: Bus,
  { readiness }: Handshake,
): InternalApi {
  return new InternalApi(
    {
      ...{ logger, presence, readiness, metrics },
      replicas: bus.registry,
      publishControl: async (message) => {
        await redis.command.call('PUBLISH', channels.control, encodeControlMessage(message));
      },
    },
    { internalHost: config.INTERNAL_HOST, internalPort: config.INTERNAL_PORT, internalToken: config.INTERNAL_TOKEN },
  );
}

/** Everything that comes over pub/sub, and what a loss of it means. */
function listen({ redis: { subscriber }, hub, logger }: House, invalidation: CardInvalidation, presence: Presence, typing: Typing): void {
  const control = new Control(hub, logger);
  invalidation.listen(subscriber);
  subscriber.subscribe(channels.presence, (text) => presence.onMessage(text));
  subscriber.subscribe(channels.typing, (text) => typing.onMessage(text));
  subscriber.subscribe(channels.control, (text) => control.onMessage(text));
  subscriber.onReconnected(() => presence.onSubscriberReconnected());
}

function declareMetrics({ config, metrics, redis, tail }: House, drain: Drain): void {
  declareReplicaMetrics(metrics, {
    replicaId: config.REPLICA_ID,
    redis,
    isDraining: () => drain.isDraining,
    recentEventsBytes: () => tail.bytes,
  });
}

function composeHouse(config: GatewayConfig): House {
  const clock = systemClock;
  const logger = createLogger({ level: config.LOG_LEVEL, fields: { replicaId: config.REPLICA_ID } });
  const redis = new RedisConnections(
    {
      url: config.REDIS_URL,
      sentinels: config.REDIS_SENTINELS,
      sentinelMaster: config.REDIS_SENTINEL_MASTER,
      commandTimeoutMs: config.REDIS_COMMAND_TIMEOUT_MS,
    },
    clock,
    logger,
  );
  const tail = new RecentEvents(clock, { maxBytes: config.RECENT_EVENTS_MAX_BYTES, maxAgeMs: config.RECENT_EVENTS_MAX_AGE_MS });
  return { config, clock, logger, metrics: new Metrics(), redis, hub: new Hub(), tail, incarnation: randomBytes(8).toString('hex') };
}

interface CardRooms {
  readonly cards: CachedCards;
  readonly owners: Owners;
  readonly invalidation: CardInvalidation;
}

function composeCards({ config, clock, logger, metrics }: House): CardRooms {
  const cardsMetrics = new CardsMetrics(metrics);
  const owners = new Owners(
    clock,
    cardsMetrics,
    {
      userServiceUrl: config.USER_SERVICE_URL,
      messengerUrl: config.MESSENGER_URL,
      ownerToken: config.OWNER_TOKEN,
      ownerTimeoutMs: config.OWNER_TIMEOUT_MS,
      ownerBreakerOpenMs: config.OWNER_BREAKER_OPEN_MS,
      syncTimeoutMs: config.SYNC_TIMEOUT_MS,
      syncConcurrency: config.SYNC_CONCURRENCY,
      syncQueue: config.SYNC_QUEUE,
    },
    logger,
  );
  const cards = new CachedCards(
    { users: owners.users, conversations: owners.conversations, clock, metrics: cardsMetrics },
    {
      maxBytes: config.CARD_CACHE_MAX_BYTES,
      ttlMs: config.CARD_TTL_MS,
      negativeTtlMs: config.CARD_NEGATIVE_TTL_MS,
      faultTtlMs: config.OWNER_BREAKER_OPEN_MS,
      deadlineMs: config.CARD_DEADLINE_MS,
    },
  );
  return { cards, owners, invalidation: new CardInvalidation(cards, clock, logger) };
}

function composePresence({ config, clock, logger, metrics, redis, hub, incarnation }: House, cards: CachedCards): Presence {
  const presence = new Presence(
    {
      ...{ hub, metrics, clock, logger },
      redis: redis.command,
      loadConversations: (ids) => void cards.warm([], ids),
    },
    {
      holder: `${config.REPLICA_ID}#${incarnation}`,
      leaseTtlMs: config.PRESENCE_LEASE_TTL_MS,
      renewMs: config.PRESENCE_RENEW_MS,
      graceMs: config.PRESENCE_GRACE_MS,
      sweepMs: config.PRESENCE_SWEEP_MS,
      audience: config.PRESENCE_AUDIENCE,
      commandTimeoutMs: config.REDIS_COMMAND_TIMEOUT_MS,
    },
  );
  cards.onConversationLoaded((card) => presence.learnConversation(card));
  return presence;
}

interface Bus {
  readonly source: EventSource;
  readonly registry: ReplicaRegistry;
  readonly janitor: GroupJanitor;
  readonly readers: readonly Component[];
  /** Whether events that are published arrive here. */
  readonly arrival: Pick<ReadinessInputs, 'isCanaryLate' | 'isCutOff'>;
}

/** Where events come from: the stream through this replica's own group, behind its fence; or pub/sub. */
function composeBus(house: House, fanout: Fanout, isDraining: () => boolean, onFencedOut: () => void): Bus {
  const { config, clock, logger, metrics, redis, hub, incarnation } = house;
  const streamMetrics = new StreamMetrics(metrics);
  const canaryMetrics = new CanaryMetrics(metrics);
  const isStream = config.FANOUT === 'streams';
  // The registry tells how late the source is, and the source may not read without the registry.
  let lagOf: () => Lag | undefined = () => undefined;
  const figures = (): ReplicaFigures => {
    const lag = lagOf();
    return {
      ...{ connections: hub.connectionCount, users: hub.userCount, draining: isDraining() },
      ...{ lagEntries: lag?.entries, lagSeconds: lag?.seconds, pending: lag?.pending },
    };
  };
  const registry = new ReplicaRegistry(redis.command, clock, logger, figures, onFencedOut, {
    replicaId: config.REPLICA_ID,
    incarnation,
    leaseTtlMs: config.REPLICA_LEASE_TTL_MS,
    isFenced: isStream && !config.UNSAFE_SHARED_GROUP,
    stream: config.EVENT_STREAM,
    destroysGroupOnStop: config.GROUP_ON_STOP === 'destroy',
  });
  const janitor = new GroupJanitor(redis.command, clock, logger, {
    stream: config.EVENT_STREAM,
    groupRetentionMs: config.GROUP_RETENTION_MS,
  });
  if (!isStream) {
    const source = new PubsubSource(
      { subscriber: redis.subscriber, clock, logger, handler: fanout, metrics: streamMetrics },
      { channel: config.EVENT_STREAM, readBatchEntries: config.READ_BATCH_ENTRIES },
    );
    const watch = new SubscriptionWatch(redis, clock, { maxDelayMs: config.READY_MAX_LAG_MS });
    return { source, registry, janitor, readers: [watch, source], arrival: { isCanaryLate: () => false, isCutOff: () => watch.isLate() } };
  }
  const canary = new Canary(redis.command, clock, logger, canaryMetrics, {
    replicaId: config.REPLICA_ID,
    intervalMs: config.CANARY_INTERVAL_MS,
    maxDelayMs: config.READY_MAX_LAG_MS,
  });
  const source = new StreamSource(
    {
      ...{ connections: redis, clock, logger, handler: fanout, warmer: fanout, canary, metrics: streamMetrics },
      fence: config.UNSAFE_SHARED_GROUP ? noFence : new Fence(registry, logger, { replicaId: config.REPLICA_ID }),
    },
    {
      replicaId: config.REPLICA_ID,
      stream: config.EVENT_STREAM,
      readBatchEntries: config.READ_BATCH_ENTRIES,
      readBlockMs: config.READ_BLOCK_MS,
      backlogMaxAgeMs: config.BACKLOG_MAX_AGE_MS,
      readyMaxLagMs: config.READY_MAX_LAG_MS,
      usesSharedGroup: config.UNSAFE_SHARED_GROUP,
    },
  );
  lagOf = () => source.lag;
  return { source, registry, janitor, readers: [canary, source], arrival: { isCanaryLate: () => canary.isLate(), isCutOff: () => false } };
}

interface FrontDoor {
  readonly expiry: TokenExpiry<Connection>;
  readonly parts: readonly Component[];
  acceptance(grant: Grant): Acceptance;
}

function composeDoor({ config, clock, metrics, hub }: House, fanout: Fanout, presence: Presence, resume: Resume): FrontDoor {
  const heartbeat = new Heartbeat(clock, config.HEARTBEAT_MS);
  const slowWatch = new SlowWatch(clock, config.OUTBOX_STUCK_MS);
  const expiry = new TokenExpiry<Connection>({ clock }, { tokenExpiringBeforeMs: config.TOKEN_EXPIRING_BEFORE_MS });
  const door = new Door(
    {
      ...{ hub, heartbeat, slowWatch, expiry, presence, resume, clock },
      metrics: new HubMetrics(metrics, hub),
      handledId: () => fanout.handled.id,
    },
    {
      outboxMaxBytes: config.OUTBOX_MAX_BYTES,
      syncRequiredJitterMs: config.SYNC_REQUIRED_JITTER_MS,
      maxConnectionsPerUser: config.MAX_CONNECTIONS_PER_USER,
      isPubsub: config.FANOUT === 'pubsub',
    },
  );
  return {
    expiry,
    parts: [heartbeat, slowWatch, expiry],
    acceptance: (grant) => ({
      subprotocol: grant.subprotocol,
      open: (socket) => door.open(grant, socket),
      release: () => grant.place.release(),
    }),
  };
}

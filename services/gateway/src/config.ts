import { hostname } from 'node:os';
import {
  flag,
  int,
  list,
  oneOf,
  optionalInt,
  optionalString,
  parseEnvironment,
  printEnvironment,
  string,
  token,
  url,
  type Values,
} from '@event-gateway/runtime';
import { maxSocketsOf, readFdLimit } from './handshake/max-connections.js';
import type { UwsServerOptions } from './transport/uws-server.js';

const http = ['http', 'https'] as const;
const redisSchemes = ['redis', 'rediss'] as const;
const redisDatabase = { pattern: /^\/?\d*$/, form: 'whose path, if any, is the number of a database' };

/** Every variable that a replica reads: its meaning, default and bounds. Contract 2.8 is this table. */
const variables = {
  REPLICA_ID: string({
    default: hostname(),
    // gateway-shared is the group of UNSAFE_SHARED_GROUP: whoever had it as its own would share it.
    pattern: /^(?!shared$)[A-Za-z0-9._-]{1,64}$/,
    form: '1 to 64 of A-Z a-z 0-9 . _ -, and not the reserved "shared"',
    about: 'names this replica and its consumer group gateway-<id>',
  }),
  HOST: string({ default: '0.0.0.0', about: 'address of the WebSocket port' }),
  PORT: int({ default: 8080, min: 0, max: 65_535, about: 'WebSocket port' }),
  INTERNAL_HOST: string({ default: '0.0.0.0', about: 'address of the internal port' }),
  INTERNAL_PORT: int({ default: 9090, min: 0, max: 65_535, about: 'internal port: presence, replicas, health, metrics' }),
  INTERNAL_TOKEN: token({ about: 'bearer token that /internal/* asks for' }),
  OWNER_TOKEN: token({ about: 'bearer token that owners are sent' }),

  REDIS_URL: url({
    default: 'redis://localhost:6380',
    schemes: redisSchemes,
    path: redisDatabase,
    about: 'Redis; rediss:// for TLS, user and password for ACL, /<number> for a database',
  }),
  REDIS_SENTINELS: list({
    about: 'host:port of the Sentinels, separated by commas; user:password@ before the first one is for all',
    form: 'host:port or user:password@host:port',
    accepts: isAddress,
  }),
  REDIS_SENTINEL_MASTER: optionalString({ about: 'name of the master that the Sentinels watch; one is nothing without the other' }),
  REDIS_COMMAND_TIMEOUT_MS: int({ default: 1000, min: 50, max: 60_000, about: 'a command slower than this counts as Redis being away' }),

  JWKS_URL: url({ schemes: http, about: 'where the public keys of the token issuer are' }),
  JWT_ISSUER: optionalString({ about: 'required `iss` of a token' }),
  JWT_AUDIENCE: optionalString({ about: 'required `aud` of a token' }),
  JWT_LEEWAY_S: int({ default: 5, min: 0, max: 300, about: 'clock difference tolerated in exp and nbf' }),
  JWKS_COOLDOWN_MS: int({ default: 30_000, min: 100, about: 'at most one JWKS request for unknown keys in this time' }),
  TOKEN_EXPIRING_BEFORE_MS: int({ default: 60_000, min: 0, about: 'token.expiring is sent this long before expiry' }),

  USER_SERVICE_URL: url({ schemes: http, about: 'owner of the user cards' }),
  MESSENGER_URL: url({ schemes: http, about: 'owner of the conversation cards and of sync' }),
  OWNER_TIMEOUT_MS: int({ default: 1000, min: 50, about: 'a card request slower than this is a fault' }),
  OWNER_BREAKER_OPEN_MS: int({ default: 2000, min: 50, about: 'an owner that failed is asked again after this long' }),
  ALLOWED_ORIGINS: list({
    about: 'origins that browsers may connect from, as https://chat.example; any when unset',
    form: 'origins as browsers send them (https://chat.example: lower case, no path, no slash at the end, no default port)',
    accepts: isOrigin,
  }),

  FANOUT: oneOf({
    default: 'streams',
    choices: ['streams', 'pubsub'],
    about: 'streams: at-least-once by consumer group; pubsub: at-most-once',
  }),
  EVENT_STREAM: string({
    default: 'messenger.events',
    pattern: /^[^,\s]+$/,
    form: 'exactly one stream name',
    about: 'the stream (or channel) of the events',
  }),
  DEAD_LETTER_MAX_ENTRIES: int({ default: 10_000, min: 1, about: 'cap of <EVENT_STREAM>.dead' }),
  READ_BATCH_ENTRIES: int({ default: 256, min: 1, max: 10_000, about: 'entries of one read' }),
  READ_BLOCK_MS: int({ default: 1000, min: 10, max: 60_000, about: 'how long a read waits for an entry' }),
  MAX_ENTRY_BYTES: int({ default: 1_048_576, min: 1024, about: 'largest envelope and largest recipients field, each' }),
  BACKLOG_MAX_AGE_MS: int({ default: 300_000, min: 1000, about: 'older entries are skipped at a start' }),
  READY_MAX_LAG_MS: int({ default: 5000, min: 100, about: 'a canary later than this makes the replica not ready' }),
  CANARY_INTERVAL_MS: int({ default: 2000, min: 50, about: 'how often a canary is sent through the reader' }),
  REPLICA_LEASE_TTL_MS: int({ default: 10_000, min: 1000, about: "lease of the replica's id" }),
  GROUP_RETENTION_MS: int({ default: 3_600_000, min: 1000, about: 'the group of a replica that has been gone for this long is destroyed' }),
  GROUP_ON_STOP: oneOf({ default: 'keep', choices: ['keep', 'destroy'], about: 'destroy: for replica ids that never come back' }),
  UNSAFE_SHARED_GROUP: flag({ about: 'reproduces the incident: one group for all replicas' }),

  PRESENCE_LEASE_TTL_MS: int({ default: 60_000, min: 1000, about: 'offline after this long without a sign of life' }),
  PRESENCE_RENEW_MS: int({ default: 20_000, min: 100, about: 'a lease is renewed at most this often' }),
  PRESENCE_GRACE_MS: int({ default: 15_000, min: 0, about: 'offline this long after the last close' }),
  PRESENCE_SWEEP_MS: int({ default: 1000, min: 50, about: 'how often expired leases are looked for' }),
  PRESENCE_AUDIENCE: oneOf({
    default: 'direct',
    choices: ['direct', 'all'],
    about: 'who sees presence: direct peers, or everybody in a common conversation',
  }),
  TYPING_INTERVAL_MS: int({ default: 2000, min: 100, about: 'one typing event per user and dialog in this time' }),

  HEARTBEAT_MS: int({ default: 20_000, min: 100, about: 'pings are sent this often; silence of 2 to 2.5 of them closes' }),
  MAX_CONNECTIONS: optionalInt({ fallback: 'from the fd limit', min: 1, about: 'cap of this replica' }),
  MAX_CONNECTIONS_PER_USER: int({ default: 16, min: 1, about: 'cap of one user on this replica; the oldest is replaced' }),
  UPGRADES_PER_SECOND: int({ default: 500, min: 1, about: 'accepted upgrades a second' }),
  UPGRADES_BURST: int({ default: 1000, min: 1, about: 'upgrades accepted at once' }),
  MAX_LOOP_LAG_MS: int({ default: 500, min: 10, about: 'upgrades are refused while the event loop lags more than this' }),
  MAX_FRAME_BYTES: int({ default: 65_536, min: 128, max: 16_777_216, about: 'largest frame from a client' }),
  INBOUND_FRAMES_PER_SECOND: int({ default: 20, min: 1, about: 'frames a second from one client' }),
  INBOUND_BURST: int({ default: 40, min: 1, about: 'frames at once from one client' }),
  INBOUND_MAX_DEPTH: int({ default: 32, min: 2, max: 1000, about: 'nesting of a client frame' }),
  INBOUND_MAX_VIOLATIONS: int({ default: 5, min: 1, about: 'violations within 60 s that close' }),
  OUTBOX_MAX_BYTES: int({ default: 1_048_576, min: 4096, about: 'what may queue for one socket' }),
  OUTBOX_STUCK_MS: int({ default: 30_000, min: 100, about: 'a full socket that takes nothing for this long is closed' }),

  RECENT_EVENTS_MAX_BYTES: int({ default: 67_108_864, min: 65_536, about: 'recent events kept for resumes' }),
  RECENT_EVENTS_MAX_AGE_MS: int({ default: 600_000, min: 1000, about: 'how long they are kept' }),
  SYNC_CONCURRENCY: int({ default: 32, min: 1, max: 1024, about: 'syncs asked of the messenger at once' }),
  SYNC_QUEUE: int({ default: 10_000, min: 0, about: 'syncs that may wait' }),
  SYNC_TIMEOUT_MS: int({ default: 5000, min: 100, about: "the messenger's time for one page" }),
  SYNC_MAX_PAGES: int({ default: 50, min: 1, max: 10_000, about: 'pages of one sync' }),
  SYNC_REQUIRED_JITTER_MS: int({ default: 5000, min: 0, about: 'bounds after_ms of sync.required' }),
  DRAIN_WINDOW_MS: int({ default: 10_000, min: 0, about: 'closes of a drain are spread over this' }),
  DRAIN_DEADLINE_MS: int({ default: 25_000, min: 100, about: 'a drain has ended by then' }),
  RECONNECT_JITTER_MS: int({ default: 5000, min: 0, about: 'bounds after_ms of reconnect' }),

  CARD_TTL_MS: int({ default: 300_000, min: 100, about: 'a card is fetched again after this' }),
  CARD_NEGATIVE_TTL_MS: int({ default: 10_000, min: 100, about: 'a 404 is remembered for this long' }),
  CARD_CACHE_MAX_BYTES: int({ default: 67_108_864, min: 65_536, about: 'both card caches together' }),
  CARD_DEADLINE_MS: int({ default: 100, min: 1, about: 'how long a batch waits for its cards' }),
  LOG_LEVEL: oneOf({ default: 'info', choices: ['debug', 'info', 'warn', 'error', 'silent'], about: 'least severe line that is written' }),
};

export type GatewayConfig = Values<typeof variables>;

/**
 * Reads the environment of this process.
 * @throws ConfigError that lists every problem.
 */
export function readConfig(): GatewayConfig {
  return parseEnvironment(process.env, variables, conflictsOf);
}

/** The table that `--print-config` shows. */
export function describeConfig(): string {
  return printEnvironment(process.env, variables);
}

/** `host`, `host:port`, and either behind `user:password@`. */
function isAddress(text: string): boolean {
  if (!URL.canParse(`redis://${text}`)) return false;
  const { hostname, pathname, search, hash } = new URL(`redis://${text}`);
  return hostname !== '' && pathname + search + hash === '';
}

/** Whether an `Origin` header can be this text, which is compared as a whole (no `*`); `null` is what sandboxed pages send. */
function isOrigin(text: string): boolean {
  if (text === 'null') return true;
  if (!URL.canParse(text)) return false;
  const { origin, protocol, host } = new URL(text);
  // The parser knows no origin of schemes that apps bring along (`capacitor://localhost`); those are sent as scheme and host all the same.
  return host !== '' && !host.includes('*') && text === (origin === 'null' ? `${protocol}//${host}` : origin);
}

/** What cannot be together, one sentence each. */
function conflictsOf(config: Partial<GatewayConfig>): string[] {
  const conflicts: string[] = [];
  const { HOST, PORT, INTERNAL_HOST, INTERNAL_PORT } = config;
  const shareAddress = HOST === INTERNAL_HOST || isEveryAddress(HOST) || isEveryAddress(INTERNAL_HOST);
  if (shareAddress && PORT !== undefined && PORT !== 0 && PORT === INTERNAL_PORT) {
    conflicts.push(`INTERNAL_PORT must be another one than PORT, not ${PORT} as well`);
  }
  if (config.REDIS_SENTINELS !== undefined && config.REDIS_SENTINEL_MASTER === undefined) {
    conflicts.push('REDIS_SENTINEL_MASTER is required with REDIS_SENTINELS');
  }
  // Sentinels that are set and unsound are a problem of their own, and missing here.
  if ('REDIS_SENTINELS' in config && config.REDIS_SENTINELS === undefined && config.REDIS_SENTINEL_MASTER !== undefined) {
    conflicts.push('REDIS_SENTINELS is required with REDIS_SENTINEL_MASTER');
  }
  return conflicts;
}

function isEveryAddress(host: string | undefined): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** What of a drain's time the closes may take: the rest is for the batch at hand, its acknowledgement and the leases. */
export const closingShare = 0.8;

/** Over how long the closes of a drain are spread, ms. */
export function drainWindowMs({ DRAIN_WINDOW_MS, DRAIN_DEADLINE_MS }: GatewayConfig): number {
  return Math.min(DRAIN_WINDOW_MS, 0.9 * closingShare * DRAIN_DEADLINE_MS);
}

/** What is legal but unwise, one sentence each. */
export function configWarnings(config: GatewayConfig): string[] {
  const warnings: string[] = [];
  if (config.HEARTBEAT_MS > config.PRESENCE_RENEW_MS || config.PRESENCE_RENEW_MS > config.PRESENCE_LEASE_TTL_MS / 3) {
    warnings.push('presence can flap unless HEARTBEAT_MS ≤ PRESENCE_RENEW_MS ≤ PRESENCE_LEASE_TTL_MS / 3');
  }
  if (config.RECONNECT_JITTER_MS >= config.PRESENCE_GRACE_MS / 2) {
    warnings.push('a drain can show users offline unless RECONNECT_JITTER_MS < PRESENCE_GRACE_MS / 2');
  }
  if (drainWindowMs(config) < config.DRAIN_WINDOW_MS) {
    warnings.push(`DRAIN_WINDOW_MS does not fit into DRAIN_DEADLINE_MS: closes are spread over ${Math.floor(drainWindowMs(config))} ms`);
  }
  if (config.UNSAFE_SHARED_GROUP) warnings.push('UNSAFE_SHARED_GROUP is set: every event reaches one replica only');
  return warnings;
}

/** The transport's own limits, all of them above ours: it cuts without a code, and drops without a word. */
export function transportOptions(config: GatewayConfig): UwsServerOptions {
  return {
    host: config.HOST,
    port: config.PORT,
    path: '/api/v1/ws',
    maxPayloadBytes: 2 * config.MAX_FRAME_BYTES + 65_536,
    maxBackpressureBytes: 3 * config.OUTBOX_MAX_BYTES + 3 * config.MAX_ENTRY_BYTES,
    idleTimeoutS: idleTimeoutSOf(config.HEARTBEAT_MS),
    // Twice what may be accepted: enough to use the accept rate up, and to say so to the others.
    requestsPerSecond: 2 * config.UPGRADES_PER_SECOND,
    maxSockets: maxSocketsOf(readFdLimit()),
  };
}

/**
 * After the heartbeat's own limit of 2.5 intervals, or a silent client would see 1006 instead of 4408. The transport looks at its sockets
 * every 4 s, counts in such ticks and begins with a part of one; 960 s is the most that it can count to.
 */
function idleTimeoutSOf(heartbeatMs: number): number {
  const [tickS, latenessS] = [4, 2];
  const ticks = Math.ceil(((2.5 * heartbeatMs) / 1000 + latenessS) / tickS) + 1;
  return Math.min(960, tickS * ticks);
}

/**
 * The transport library reads this once, when it is loaded, and refuses longer request lines and headers. Its own default of
 * 4 KiB is less than what a token with a few dozen claims takes. Set whatever the environment says: the table above is all that is read.
 */
export function raiseHeaderLimit(): void {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = '16384';
}

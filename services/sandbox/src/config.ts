import {
  flag,
  int,
  list,
  oneOf,
  optionalString,
  parseEnvironment,
  printEnvironment,
  string,
  token,
  url,
  type Values,
} from '@event-gateway/runtime';

/** Every variable of the sandbox; nothing else is read. */
const variables = {
  HOST: string({ about: 'address to listen on', default: '0.0.0.0' }),
  PORT: int({ about: 'the one HTTP port: page, public API, /internal for the gateway, /admin', default: 8090, min: 0, max: 65_535 }),
  DATABASE_FILE: string({ about: 'the SQLite file; created when it is missing, owned by one process', default: 'sandbox.db' }),
  REDIS_URL: url({ about: 'the bus', default: 'redis://localhost:6380', schemes: ['redis', 'rediss'] }),
  EVENT_STREAM: string({ about: 'stream (or, with pub/sub, channel) of the events', default: 'messenger.events' }),
  STREAM_MAX_ENTRIES: int({ about: 'the stream is trimmed to about that many entries', default: 1_000_000, min: 1 }),
  FANOUT: oneOf({ about: 'how events travel; the same as at the gateway', default: 'streams', choices: ['streams', 'pubsub'] }),
  ISSUER: string({ about: 'iss of the tokens', default: 'event-gateway-sandbox' }),
  AUDIENCE: string({ about: 'aud of the tokens', default: 'event-gateway' }),
  TOKEN_TTL_S: int({ about: 'how long a token lives; also how long a retired key stays published', default: 3600, min: 1 }),
  OWNER_TOKEN: token({ about: 'bearer that /internal asks for; the same as at the gateway' }),
  ADMIN_TOKEN: token({ about: 'bearer that /admin asks for' }),
  SYNC_PAGE_EVENTS: int({ about: 'events on one page of a sync', default: 200, min: 1, max: 10_000 }),
  SYNC_WINDOW_MESSAGES: int({ about: 'what a client gets of a conversation that it has never had', default: 50, min: 0, max: 10_000 }),
  SEED_DEMO: flag({ about: 'an empty database gets Alice, Bob and Carol, a dialog and a group' }),
  GATEWAY_WS_URL: optionalString({
    about: 'where the page opens its sockets; its own host when unset',
    pattern: /^wss?:\/\//,
    form: 'a ws:// or wss:// URL',
  }),
  REPLICA_STATUS_URLS: list({ about: 'internal ports of replicas, for the fleet shown on the page' }),
  INTERNAL_TOKEN: token({ about: 'bearer for those' }),
  DEMO_CONTROL_URL: optionalString({
    about: 'who kills and restarts replicas for the page',
    pattern: /^https?:\/\//,
    form: 'an http:// URL',
  }),
  LOG_LEVEL: oneOf({ about: 'what is logged', default: 'info', choices: ['debug', 'info', 'warn', 'error', 'silent'] }),
};

type Environment = Readonly<Record<string, string | undefined>>;
export type SandboxConfig = Values<typeof variables>;

/** @throws ConfigError that lists every problem */
export function parseConfig(environment: Environment = process.env): SandboxConfig {
  return parseEnvironment(environment, variables);
}

export function printConfig(environment: Environment = process.env): string {
  return printEnvironment(environment, variables);
}

import { hostname } from 'node:os';
import {
  int,
  oneOf,
  optionalString,
  parseEnvironment,
  printEnvironment,
  string,
  token,
  url,
  type Values,
  type Variable,
} from '@event-gateway/runtime';

/** Internal ports of replicas, separated by commas. */
const gatewayUrls: Variable<readonly string[]> = {
  about: 'internal ports of gateway replicas; when one does not answer the next is asked',
  defaultText: 'http://localhost:9090',
  required: false,
  secret: false,
  parse: (text = 'http://localhost:9090') => {
    const urls = text.split(',').map((item) => item.trim());
    const isFine = urls.every((item) => URL.canParse(item) && /^https?:$/.test(new URL(item).protocol));
    return isFine ? { value: urls } : { problem: 'must be http:// or https:// URLs separated by commas' };
  },
};

/** Every variable of the worker; nothing else is read. */
const variables = {
  REDIS_URL: url({ default: 'redis://localhost:6380', schemes: ['redis', 'rediss'], about: 'the bus' }),
  REDIS_COMMAND_TIMEOUT_MS: int({ default: 1000, min: 50, max: 60_000, about: 'a command slower than this counts as Redis being away' }),
  EVENT_STREAM: string({ default: 'messenger.events', about: 'stream of the events' }),
  GROUP: string({ default: 'notifications', about: 'consumer group; all workers of one group share the work' }),
  WORKER_ID: string({
    default: `${hostname()}-${process.pid}`,
    pattern: /^[A-Za-z0-9._-]{1,64}$/,
    form: '1 to 64 of A-Z a-z 0-9 . _ -',
    about: 'this worker within the group',
  }),
  READ_BATCH_ENTRIES: int({ default: 64, min: 1, max: 1000, about: 'entries taken at once; fewer share better, more cost less' }),
  READ_BLOCK_MS: int({ default: 1000, min: 10, max: 10_000, about: 'how long an idle read waits; a drain takes at most this much longer' }),
  CLAIM_IDLE_MS: int({ default: 60_000, min: 100, about: 'entries that a worker has had for this long without an end are taken over' }),

  GATEWAY_URLS: gatewayUrls,
  INTERNAL_TOKEN: token({ about: 'bearer token for /internal/presence' }),
  PRESENCE_TIMEOUT_MS: int({ default: 2000, min: 50, about: 'a replica slower than this does not count; it answers by itself after 1 s' }),

  PUSH_WEBHOOK_URL: optionalString({
    pattern: /^https?:\/\//,
    form: 'an http:// or https:// URL',
    about: 'each push is POSTed here; unset: it is a line in the log',
  }),
  PUSH_TIMEOUT_MS: int({ default: 5000, min: 50, about: 'a webhook slower than this is asked again later' }),
  PUSH_CONCURRENCY: int({ default: 16, min: 1, max: 1000, about: 'pushes under way at once' }),
  PUSH_MAX_AGE_MS: int({ default: 600_000, min: 1000, about: 'nobody wants to be woken for something older than this' }),
  PUSH_MEMORY_MS: int({ default: 86_400_000, min: 1000, about: 'a message that is published again within this time is not pushed again' }),

  HOST: string({ default: '0.0.0.0', about: 'address of the port for health and metrics' }),
  PORT: int({ default: 9091, min: 0, max: 65_535, about: 'port for GET /healthz and GET /metrics' }),
  LOG_LEVEL: oneOf({ default: 'info', choices: ['debug', 'info', 'warn', 'error', 'silent'], about: 'what is logged' }),
};

type Environment = Readonly<Record<string, string | undefined>>;
export type WorkerConfig = Values<typeof variables>;

/** @throws ConfigError that lists every problem */
export function parseConfig(environment: Environment = process.env): WorkerConfig {
  return parseEnvironment(environment, variables);
}

export function printConfig(environment: Environment = process.env): string {
  return printEnvironment(environment, variables);
}

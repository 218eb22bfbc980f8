import { type Clock, type Logger, RateLimitedLog } from '@event-gateway/runtime';
import { MAX_PRESENCE_QUERY_USERS } from '@event-gateway/protocol';
import { request } from 'undici';
import type { WorkerMetrics } from './worker-metrics.js';

export type Presence = 'online' | 'offline' | 'unknown';

export interface PresenceClientOptions {
  readonly urls: readonly string[];
  readonly token: string | undefined;
  readonly timeoutMs: number;
}

/** A longer list goes into a body: proxies on the way bound the length of a URL. */
const maxQueryBytes = 4000;

/**
 * Who is online, as the gateway says: any replica knows about all of them. Nobody's fault is an error here: whoever could not be asked
 * about is `unknown`.
 */
export class PresenceClient {
  readonly #options: PresenceClientOptions;
  readonly #metrics: WorkerMetrics;
  readonly #log: RateLimitedLog;
  /** The replica that answered last is asked first. */
  #first = 0;

  constructor(options: PresenceClientOptions, metrics: WorkerMetrics, clock: Clock, logger: Logger) {
    this.#options = options;
    this.#metrics = metrics;
    this.#log = new RateLimitedLog(logger, clock);
  }

  async of(users: ReadonlySet<string>): Promise<ReadonlyMap<string, Presence>> {
    const list = [...users];
    const presence = new Map<string, Presence>();
    for (let from = 0; from < list.length; from += MAX_PRESENCE_QUERY_USERS) {
      const chunk = list.slice(from, from + MAX_PRESENCE_QUERY_USERS);
      const answer = await this.#ask(chunk);
      for (const user of chunk) presence.set(user, answer.get(user) ?? 'unknown');
    }
    return presence;
  }

  async #ask(users: readonly string[]): Promise<ReadonlyMap<string, Presence>> {
    const { urls } = this.#options;
    for (let tried = 0; tried < urls.length; tried++) {
      const index = (this.#first + tried) % urls.length;
      const answer = await this.#askReplica(urls[index] ?? '', users);
      if (answer === undefined) continue;
      this.#first = index;
      this.#metrics.presenceAsked(answer.isDegraded ? 'degraded' : 'ok');
      if (answer.isDegraded) this.#log.warn({}, 'the gateway does not know who is online: everybody counts as offline');
      return answer.presence;
    }
    this.#metrics.presenceAsked('failed');
    this.#log.warn({ replicas: urls.length }, 'no replica says who is online: everybody counts as offline');
    return new Map();
  }

  async #askReplica(url: string, users: readonly string[]): Promise<PresenceAnswer | undefined> {
    const { token, timeoutMs } = this.#options;
    const target = new URL('/internal/presence', url);
    // Commas separate ids before they are decoded, so that an id may hold one.
    const query = users.map(encodeURIComponent).join(',');
    const isShort = query.length <= maxQueryBytes;
    if (isShort) target.search = `users=${query}`;
    try {
      const { statusCode, body } = await request(target, {
        method: isShort ? 'GET' : 'POST',
        ...(isShort ? {} : { body: JSON.stringify({ users }) }),
        headers: {
          ...(isShort ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answer = statusCode === 200 ? decodeAnswer(await body.json()) : undefined;
      if (statusCode !== 200) await body.dump();
      if (answer === undefined) this.#log.warn({ status: statusCode }, 'a replica gave no answer about presence');
      return answer;
    } catch (error) {
      this.#log.warn({ error }, 'a replica could not be asked about presence');
      return undefined;
    }
  }
}

interface PresenceAnswer {
  readonly presence: ReadonlyMap<string, Presence>;
  readonly isDegraded: boolean;
}

function decodeAnswer(body: unknown): PresenceAnswer | undefined {
  const { presence, degraded } = fieldsOf(body) ?? {};
  const entries = fieldsOf(presence);
  if (entries === undefined) return undefined;
  return {
    presence: new Map(Object.entries(entries).map(([user, entry]) => [user, statusOf(fieldsOf(entry)?.['status'])])),
    isDegraded: degraded === true,
  };
}

function statusOf(status: unknown): Presence {
  return status === 'online' || status === 'offline' ? status : 'unknown';
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

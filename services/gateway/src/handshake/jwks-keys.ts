import { Backoff, type Clock, type Logger, RateLimitedLog, runLoop } from '@event-gateway/runtime';
import { importKeys, type SigningKey } from './import-keys.js';
import { JwksUnavailableError } from './jwks-source.js';

export interface JwksKeysDeps {
  /** Gets the published key set; rejects when it cannot. */
  readonly fetchJwks: (signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface JwksKeysOptions {
  readonly jwksCooldownMs: number;
}

/** `unknown`: the issuer does not publish it. `unavailable`: the issuer cannot be asked. */
export type KeyLookup = SigningKey | 'unknown' | 'unavailable';

/**
 * The set is also fetched this often without anybody asking, so that a key which was withdrawn without a new one (a rotation brings an
 * unknown kid, which refreshes at once) verifies tokens for five minutes more and no longer, as long as the endpoint answers.
 */
const refreshEveryMs = 300_000;

/**
 * The issuer's public keys. The first set is fetched with back-off until it comes; from then on keys are never forgotten for lack of an
 * answer, only replaced by a newer set. An unknown kid fetches the set anew, at most once per cooldown whoever asks; neither the first
 * fetch nor the regular ones start the cooldown, so a rotation just after the start is seen at once.
 */
export class JwksKeys {
  readonly name = 'jwks';
  readonly #deps: JwksKeysDeps;
  readonly #cooldownMs: number;
  readonly #log: RateLimitedLog;
  readonly #stopped = new AbortController();
  #isStarted = false;
  #keys: ReadonlyMap<string, SigningKey> = new Map();
  #newestFailed = false;
  /** One fetch at a time: of two, the older answer could arrive last and bring back what was withdrawn. */
  #refreshing: Promise<void> | undefined;
  #mayAskAtMs = 0;

  constructor(deps: JwksKeysDeps, { jwksCooldownMs }: JwksKeysOptions) {
    this.#deps = deps;
    this.#cooldownMs = jwksCooldownMs;
    this.#log = new RateLimitedLog(deps.logger, deps.clock);
  }

  /** Begins to fetch; does not wait for the endpoint. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { clock, logger } = this.#deps;
    const firstSet = new Backoff({ minMs: 100, maxMs: 2000 });
    const everyMs = (): number => (this.isLoaded ? refreshEveryMs : firstSet.next());
    void runLoop({ name: 'jwks', signal: this.#stopped.signal, clock, logger, everyMs }, () => this.#refresh());
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** True for ever after the first key set. */
  get isLoaded(): boolean {
    return this.#keys.size > 0;
  }

  /** The key with this id. An unknown one waits for a fetch, bounded by its timeout, when the cooldown allows it. */
  find(kid: string): SigningKey | Promise<KeyLookup> {
    return this.#keys.get(kid) ?? this.#ask(kid);
  }

  async #ask(kid: string): Promise<KeyLookup> {
    if (!this.isLoaded) return 'unavailable'; // the first fetch goes on by itself
    while (this.#refreshing !== undefined) await this.#refreshing;
    const nowMs = this.#deps.clock.nowMs();
    if (!this.#keys.has(kid) && nowMs >= this.#mayAskAtMs) {
      this.#mayAskAtMs = nowMs + this.#cooldownMs;
      await this.#refresh();
    }
    return this.#keys.get(kid) ?? (this.#newestFailed ? 'unavailable' : 'unknown');
  }

  /** Never rejects: what a failed fetch means depends on what is held already. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#load().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #load(): Promise<void> {
    try {
      const keys = importKeys(await this.#deps.fetchJwks(this.#stopped.signal), this.#keys);
      // An issuer always has a key: an empty set is a fault of the endpoint, and no reason to log everybody out.
      if (keys.size === 0) throw new JwksUnavailableError('the key set has no usable key');
      if (isChanged(this.#keys, keys)) this.#deps.logger.info({ kids: [...keys.keys()] }, 'key set changed');
      this.#keys = keys;
      this.#newestFailed = false;
    } catch (error) {
      this.#newestFailed = true;
      if (!this.#stopped.signal.aborted) this.#log.warn({ error }, 'key set not loaded');
    }
  }
}

function isChanged(before: ReadonlyMap<string, SigningKey>, after: ReadonlyMap<string, SigningKey>): boolean {
  return before.size !== after.size || [...after].some(([kid, key]) => before.get(kid) !== key);
}

import type { RedisOptions as ClientOptions } from 'ioredis';

/** How to reach Redis. */
export interface RedisOptions {
  /** `redis://` or `rediss://` (TLS), with `user:password@` of an ACL user and `/db` if any. With Sentinel its host and port are unused. */
  readonly url: string;
  /**
   * `host:port` of each Sentinel; then the master is looked up there at every connect. With `rediss://` they are asked by TLS as well.
   * Where they want to know who asks, `user:password@` (percent-encoded) stands before the first one, and is told to all of them.
   */
  readonly sentinels?: readonly string[] | undefined;
  /** The name under which Sentinel knows the master; required with `sentinels`. */
  readonly sentinelMaster?: string | undefined;
  /** A command that has no answer after this long fails with RedisUnavailableError. */
  readonly commandTimeoutMs: number;
  /** PEM of the authority that signed the server's certificate, when the process does not trust it anyway (`NODE_EXTRA_CA_CERTS`). */
  readonly tlsAuthority?: string | undefined;
}

const defaultPort = 6379;
const defaultSentinelPort = 26379;

/**
 * The client library's options that every kind of connection shares. What the library would do behind our back is off: no queue
 * while offline, no re-sending of commands whose outcome is unknown, no automatic resubscription that nobody can wait for.
 */
export function clientOptions(options: RedisOptions, connectionName: string): ClientOptions {
  const url = new URL(options.url);
  const tls = url.protocol === 'rediss:' ? { tls: tlsOptions(options, url.hostname) } : {};
  return {
    ...address(options, url),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    db: url.pathname.length > 1 ? Number(url.pathname.slice(1)) : 0,
    ...tls,
    connectionName,
    lazyConnect: true,
    connectTimeout: options.commandTimeoutMs,
    // A peer that is silently dead never completes a polite end.
    disconnectTimeout: 100,
    maxLoadingRetryTime: 500,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // Commands that were under way when a connection closed fail at once.
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
  };
}

function address(options: RedisOptions, url: URL): ClientOptions {
  if (options.sentinels === undefined || options.sentinels.length === 0) {
    return { host: withoutBrackets(url.hostname), port: url.port === '' ? defaultPort : Number(url.port) };
  }
  if (options.sentinelMaster === undefined) throw new TypeError('sentinels are told nothing without sentinelMaster');
  const usesTls = url.protocol === 'rediss:';
  const sentinels = options.sentinels.map((text) => new URL(`redis://${text}`));
  return {
    sentinels: sentinels.map(({ hostname, port }) => ({
      host: withoutBrackets(hostname),
      port: port === '' ? defaultSentinelPort : Number(port),
    })),
    ...sentinelCredentials(sentinels),
    name: options.sentinelMaster,
    sentinelCommandTimeout: options.commandTimeoutMs,
    ...(usesTls ? { sentinelTLS: tlsOptions(options, ''), enableTLSForSentinelMode: true } : {}),
  };
}

/** The client library knows one user for all of them. */
function sentinelCredentials([first]: readonly URL[]): Pick<ClientOptions, 'sentinelUsername' | 'sentinelPassword'> {
  if (first === undefined || first.password === '') return {};
  const { username, password } = first;
  return {
    ...(username === '' ? {} : { sentinelUsername: decodeURIComponent(username) }),
    sentinelPassword: decodeURIComponent(password),
  };
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function tlsOptions(options: RedisOptions, hostname: string): { ca?: string; servername?: string } {
  const isName = /[a-z]/i.test(hostname) && !hostname.startsWith('[');
  return {
    ...(options.tlsAuthority === undefined ? {} : { ca: options.tlsAuthority }),
    // An IP address is not allowed as a server name.
    ...(isName && (options.sentinels ?? []).length === 0 ? { servername: hostname } : {}),
  };
}

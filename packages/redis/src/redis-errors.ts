/** Redis did not answer: it is down, unreachable, loading, being failed over, or slower than the timeout. Nothing is known of the outcome. */
export class RedisUnavailableError extends Error {
  readonly code = 'REDIS_UNAVAILABLE';
  readonly retryable = true;
  /** It was refused here: nothing of it is on its way, and so nothing of it can be done late. */
  readonly isUnsent: boolean;

  constructor(what: string, { isUnsent = false, ...options }: ErrorOptions & { readonly isUnsent?: boolean } = {}) {
    super(`Redis is unavailable: ${what}`, options);
    this.name = 'RedisUnavailableError';
    this.isUnsent = isUnsent;
  }
}

/** Redis answered with an error. `code` is its first word: `NOGROUP`, `WRONGTYPE`, `NOPERM`, `ERR` … */
export class RedisReplyError extends Error {
  readonly code: string;

  constructor(message: string) {
    super(message);
    this.name = 'RedisReplyError';
    this.code = /^[A-Z]+/.exec(message)?.[0] ?? 'ERR';
  }
}

/** Redis answered something that nobody here understands: a script file of another release, a proxy in between. Nothing of it is believed. */
export class UnexpectedReplyError extends Error {
  readonly code = 'UNEXPECTED_REPLY';

  /** @param what the command or script that was answered */
  constructor(what: string) {
    super(`unexpected reply to ${what}`);
    this.name = 'UnexpectedReplyError';
  }
}

/** Replies of a server that cannot serve now and will again, or that is not the master (any more): as good as no answer. */
const transientCodes: ReadonlySet<string> = new Set(['LOADING', 'READONLY', 'MASTERDOWN']);

/** Sorts what the client library throws into the two kinds of this package. */
export function toRedisError(error: unknown, what: string): RedisUnavailableError | RedisReplyError {
  if (error instanceof RedisUnavailableError || error instanceof RedisReplyError) return error;
  if (error instanceof Error && error.name === 'ReplyError') {
    const reply = new RedisReplyError(error.message);
    // A script that hits a read-only replica fails with the server's word inside the script's message.
    const isTransient = transientCodes.has(reply.code) || error.message.includes('READONLY');
    return isTransient ? new RedisUnavailableError(what, { cause: reply }) : reply;
  }
  // The library hangs the whole command on its errors; its arguments do not belong into a log.
  const cause = error instanceof Error ? new Error(error.message) : new Error(String(error));
  return new RedisUnavailableError(what, { cause });
}

/** True for the error by which every command says that Redis is down or too slow. */
export function isRedisUnavailable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'REDIS_UNAVAILABLE';
}

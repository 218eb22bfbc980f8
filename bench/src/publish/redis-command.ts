/** A Redis command in RESP. */
export function redisCommand(...args: readonly string[]): Buffer {
  const bulks = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return Buffer.from(`*${args.length}\r\n${bulks.join('')}`);
}

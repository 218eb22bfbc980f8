import { parseArgs } from 'node:util';

export interface PeerOptions {
  readonly port: number;
  readonly redisUrl: string;
  readonly engine: string;
}

/** `--port 1234 --redis redis://… [--engine uws]`. */
export function readPeerOptions(): PeerOptions {
  const { values } = parseArgs({ options: { port: { type: 'string' }, redis: { type: 'string' }, engine: { type: 'string' } } });
  return { port: Number(values.port), redisUrl: values.redis ?? '', engine: values.engine ?? 'ws' };
}

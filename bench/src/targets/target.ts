import type { RedisServer } from '@event-gateway/fleet';
import { cpuTimeUs } from '../host/cpu-time.js';
import type { ProtocolName } from '../load/protocols/protocols.js';
import type { BusFormat } from '../publish/bus-formats.js';
import type { ServerProcess } from './server-process.js';

/** In the order of every table. */
export const targetNames = ['gateway', 'socket.io', 'socket.io-uws', 'plain-ws', 'centrifugo'] as const;
export type TargetName = (typeof targetNames)[number];

/** A system under measurement: its server processes and a Redis of its own. */
export interface Target {
  readonly name: TargetName;
  readonly protocol: ProtocolName;
  readonly format: BusFormat;
  readonly redis: RedisServer;
  readonly servers: readonly ServerProcess[];
}

/** The n-th server of a target, from 0. */
export function serverOf({ name, servers }: Target, index = 0): ServerProcess {
  const server = servers[index];
  if (server === undefined) throw new Error(`${name} has ${servers.length} servers`);
  return server;
}

export function serversCpuUs({ servers }: Target): number {
  return servers.reduce((sum, server) => sum + server.cpuUs(), 0);
}

export function redisCpuUs({ redis }: Target): number {
  return cpuTimeUs(redis.pid);
}

export async function stopTarget({ servers, redis }: Target): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
  await redis.stop();
}

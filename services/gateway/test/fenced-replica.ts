import { randomUUID } from 'node:crypto';
import type { RedisServer } from '@event-gateway/fleet';
import { RedisConnections } from '@event-gateway/redis';
import { type Clock, silentLogger, systemClock } from '@event-gateway/runtime';
import { Fence } from '../src/replica/fence.js';
import { type ReplicaFigures, ReplicaRegistry, type ReplicaRegistryOptions } from '../src/replica/registry.js';
import { createReadingReplica, type ReadingReplica, type ReadingReplicaOptions, stream } from './reading-replica.js';

export interface FencedReplica extends ReadingReplica {
  readonly registry: ReplicaRegistry;
  readonly incarnation: string;
  readonly isFencedOut: () => boolean;
  /** Like kill -9 of the whole process. */
  die(): Promise<void>;
}

export interface FencedReplicaOptions
  extends ReadingReplicaOptions,
    Partial<Pick<ReplicaRegistryOptions, 'isFenced' | 'destroysGroupOnStop'>> {
  readonly leaseTtlMs?: number;
  readonly registryClock?: Clock;
  readonly figures?: () => ReplicaFigures;
}

const noFigures = { connections: 0, users: 0, lagEntries: 0, lagSeconds: 0, pending: 0, draining: false };

/** A source with its registry and fence, as one process has them; not started. */
export function createFencedReplica(server: RedisServer, replicaId: string, options: FencedReplicaOptions = {}): FencedReplica {
  const { leaseTtlMs = 1000, registryClock = systemClock, figures = () => noFigures, isFenced = true, ...rest } = options;
  const { destroysGroupOnStop = false, ...sourceOptions } = rest;
  const connections = new RedisConnections({ url: server.url, commandTimeoutMs: 300 }, systemClock, silentLogger);
  const incarnation = randomUUID();
  let isFencedOut = false;
  const registry = new ReplicaRegistry(
    connections.command,
    registryClock,
    silentLogger,
    figures,
    () => {
      isFencedOut = true;
    },
    { replicaId, incarnation, leaseTtlMs, isFenced, stream, destroysGroupOnStop },
  );
  const fence = new Fence(registry, silentLogger, { replicaId });
  const reading = createReadingReplica(server, replicaId, { ...sourceOptions, fence });
  connections.start();
  const die = async (): Promise<void> => {
    connections.stop();
    await reading.kill();
    await registry.stop();
  };
  return { ...reading, registry, incarnation, isFencedOut: () => isFencedOut, kill: die, die };
}

export function startFenced(replica: FencedReplica): FencedReplica {
  replica.connections.start();
  replica.registry.start();
  replica.source.start();
  return replica;
}

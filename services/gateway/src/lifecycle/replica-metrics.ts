import { readFileSync } from 'node:fs';
import type { ConnectionKind } from '@event-gateway/redis';
import type { Metrics } from '@event-gateway/runtime';

/** What the page says about the replica itself. */
export interface ReplicaState {
  readonly replicaId: string;
  /** Connections that do not exist (a reader with FANOUT=pubsub, or before there is something to read) are neither up nor down. */
  readonly redis: { readonly kinds: readonly ConnectionKind[]; isUp(connection: ConnectionKind): boolean };
  isDraining(): boolean;
  recentEventsBytes(): number;
}

/** Declares the figures that are read at a scrape rather than counted. */
export function declareReplicaMetrics(metrics: Metrics, state: ReplicaState): void {
  metrics.collectProcessMetrics();
  metrics
    .gauge('gateway_build_info', 'Always 1; says which version runs as which replica.', { labels: { version: [], replica: [] } })
    .set(1, { version: readVersion(), replica: state.replicaId });
  const redisUp = metrics.gauge('gateway_redis_up', '1 while this kind of connection to Redis works.', {
    labels: { connection: ['command', 'reader', 'subscriber'] },
  });
  const draining = metrics.gauge('gateway_draining', '1 while this replica drains.');
  const recentEvents = metrics.gauge('gateway_recent_events_bytes', 'Bytes of recent events kept for resumes.');
  metrics.onScrape(() => {
    for (const connection of state.redis.kinds) redisUp.set(state.redis.isUp(connection) ? 1 : 0, { connection });
    draining.set(state.isDraining() ? 1 : 0);
    recentEvents.set(state.recentEventsBytes());
  });
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
}

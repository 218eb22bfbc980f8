import { readFileSync } from 'node:fs';
import type { Metrics } from '@event-gateway/runtime';

const connections = ['command', 'reader', 'subscriber'] as const;

/** What the page says about the replica itself. */
export interface ReplicaState {
  readonly replicaId: string;
  isRedisUp(connection: (typeof connections)[number]): boolean;
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
    labels: { connection: connections },
  });
  const draining = metrics.gauge('gateway_draining', '1 while this replica drains.');
  const recentEvents = metrics.gauge('gateway_recent_events_bytes', 'Bytes of recent events kept for resumes.');
  metrics.onScrape(() => {
    for (const connection of connections) redisUp.set(state.isRedisUp(connection) ? 1 : 0, { connection });
    draining.set(state.isDraining() ? 1 : 0);
    recentEvents.set(state.recentEventsBytes());
  });
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
}

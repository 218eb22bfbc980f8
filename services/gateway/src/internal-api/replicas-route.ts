import { type Answer, json, refused } from './answer.js';
import { isRedisUnavailable } from './redis-fault.js';

/** One living replica as it describes itself; figures that are not known are null. */
export interface ReplicaRow {
  readonly replica_id: string;
  readonly incarnation: string;
  /** ISO 8601 UTC. */
  readonly started_at: string;
  readonly connections: number;
  readonly users: number;
  readonly lag_entries: number | null;
  readonly lag_seconds: number | null;
  readonly pending: number | null;
  readonly draining: boolean;
}

export interface ReplicaList {
  /** At most 2 s old. Rejects when Redis cannot be reached. */
  list(): Promise<readonly ReplicaRow[]>;
}

/** `GET /internal/replicas`. */
export function replicasRoute(replicas: ReplicaList): () => Promise<Answer> {
  return async () => {
    try {
      return json(200, { replicas: await replicas.list() });
    } catch (error) {
      if (isRedisUnavailable(error)) return refused('redis_unavailable', 'the fleet cannot be listed now');
      throw error;
    }
  };
}

import type { ReplicaRow } from '@event-gateway/protocol';
import { RedisUnavailableError } from '@event-gateway/redis';
import { type Answer, json, refused } from './answer.js';

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
      if (error instanceof RedisUnavailableError) return refused('redis_unavailable', 'the fleet cannot be listed now');
      throw error;
    }
  };
}

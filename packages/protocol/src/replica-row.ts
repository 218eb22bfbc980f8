/** One living replica as `GET /internal/replicas` lists it. What is not known is null. */
export interface ReplicaRow {
  readonly replica_id: string;
  /** Of one process: a restart has another one. */
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

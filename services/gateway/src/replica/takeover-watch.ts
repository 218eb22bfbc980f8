/** What a look at the lease of a replica id showed. */
export interface LeaseSighting {
  /** Incarnation of the holder; undefined when nobody holds it. */
  readonly holder: string | undefined;
  /** How often that holder has renewed. */
  readonly renewals: number;
  /** Whether a process with this id has lived within the last hour and did not leave in good order. */
  readonly hasPredecessor: boolean;
  /** Redis has been away since this process was started. */
  readonly hasRedisBeenAway: boolean;
}

/**
 * Decides when a process may take an id whose lease may still belong to another one.
 *
 * A lease that is absent proves nothing by itself: after an outage of Redis longer than the lease, the lease of a healthy replica is
 * absent too, until that replica renews. So the lease must be absent now, and nobody may have renewed it for two renewals during
 * which Redis could be asked all the time. Only where no process with this id has left a trace there is nobody to wait for; and a Redis
 * that was away a moment ago may have lost the trace with the lease.
 */
export class TakeoverWatch {
  readonly #renewEveryMs: number;
  #last: { readonly holder: string | undefined; readonly renewals: number; readonly atMs: number } | undefined;
  #unrenewedSinceMs = 0;

  constructor(renewEveryMs: number) {
    this.#renewEveryMs = renewEveryMs;
  }

  /** @param nowMs monotonic */
  sighted({ holder, renewals, hasPredecessor, hasRedisBeenAway }: LeaseSighting, nowMs: number): 'claim' | 'wait' {
    const last = this.#last;
    // A gap between two looks (this process was stopped, or Redis) may have hidden a renewal.
    const isContinuous = last !== undefined && nowMs - last.atMs <= this.#renewEveryMs;
    const isRenewed = holder !== undefined && (holder !== last?.holder || renewals !== last.renewals);
    if (!isContinuous || isRenewed) this.#unrenewedSinceMs = nowMs;
    this.#last = { holder, renewals, atMs: nowMs };
    if (holder !== undefined) return 'wait';
    if (last === undefined && !hasPredecessor && !hasRedisBeenAway) return 'claim';
    return nowMs - this.#unrenewedSinceMs >= 2 * this.#renewEveryMs ? 'claim' : 'wait';
  }

  /** Redis could not be asked: what was seen so far proves nothing any more. */
  lost(): void {
    if (this.#last !== undefined) this.#last = { ...this.#last, atMs: Number.NEGATIVE_INFINITY };
  }
}

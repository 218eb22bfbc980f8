import type { UpgradeRefusal } from '@event-gateway/protocol';
import { type Clock, TokenBucket } from '@event-gateway/runtime';
import { type Refusal, refuse } from './refusal.js';
import { briefRetryAfterS, RefusedQueue } from './retry-after.js';

export interface AdmissionDeps {
  readonly clock: Clock;
  isDraining(): boolean;
  /** True for ever once the replica has been ready: a fault that all replicas share must not refuse every reconnect. */
  hasBeenReady(): boolean;
  /** Sockets that are open already. */
  connectionCount(): number;
  /** The event loop has lagged for a while. */
  isLagging(): boolean;
  readonly random?: () => number;
}

export interface AdmissionOptions {
  readonly maxConnections: number;
  readonly upgradesPerSecond: number;
  readonly upgradesBurst: number;
  /** Exact values of `Origin`; any when undefined. */
  readonly allowedOrigins: readonly string[] | undefined;
}

/** Room for one socket that is being opened. */
export interface Place {
  /** Gives the room back: the socket counts by itself now, or will never open. Idempotent. */
  release(): void;
}

/**
 * The door, asked before anything that costs: is there room, and is it this one's turn. The order is the contract's: draining,
 * not_ready, replica_full, rate_limited, then the origin; the token comes after all this.
 */
export class Admission {
  readonly #deps: AdmissionDeps;
  readonly #random: () => number;
  readonly #maxConnections: number;
  readonly #allowedOrigins: ReadonlySet<string> | undefined;
  readonly #bucket: TokenBucket;
  readonly #refusedQueue: RefusedQueue;
  /** Admitted and not yet a connection: they count, or all upgrades of a moment would find the same last place free. */
  #opening = 0;

  constructor(deps: AdmissionDeps, options: AdmissionOptions) {
    const { clock, random = Math.random } = deps;
    this.#deps = deps;
    this.#random = random;
    this.#maxConnections = options.maxConnections;
    this.#allowedOrigins = options.allowedOrigins === undefined ? undefined : new Set(options.allowedOrigins);
    this.#bucket = new TokenBucket(options.upgradesPerSecond, options.upgradesBurst, clock);
    this.#refusedQueue = new RefusedQueue(options.upgradesPerSecond, clock, random);
  }

  /**
   * A place, to be released in the tick in which the socket is counted, or has failed; or why there is none.
   * @param origin the `Origin` header; undefined or empty when absent, which is allowed: only browsers send it.
   */
  reserve(origin: string | undefined): Place | Refusal {
    const deps = this.#deps;
    if (deps.isDraining()) return this.#refuseBriefly('draining');
    if (!deps.hasBeenReady()) return this.#refuseBriefly('not_ready');
    if (deps.connectionCount() + this.#opening >= this.#maxConnections) return this.#refuseBriefly('replica_full');
    if (deps.isLagging()) return this.#refuseBriefly('rate_limited');
    if (!this.#bucket.take()) return refuse('rate_limited', this.#refusedQueue.nextRetryAfterS());
    if (!this.#isAllowed(origin)) return refuse('origin_forbidden');
    this.#opening++;
    return new HeldPlace(() => this.#opening--);
  }

  /** Why somebody who had been given a place, and whose token took a while, may not come in any more. */
  refusalAfterAll(): Refusal | undefined {
    return this.#deps.isDraining() ? this.#refuseBriefly('draining') : undefined;
  }

  #refuseBriefly(code: UpgradeRefusal): Refusal {
    return refuse(code, briefRetryAfterS(this.#random));
  }

  #isAllowed(origin: string | undefined): boolean {
    return this.#allowedOrigins === undefined || origin === undefined || origin === '' || this.#allowedOrigins.has(origin);
  }
}

class HeldPlace implements Place {
  #giveBack: (() => void) | undefined;

  constructor(giveBack: () => void) {
    this.#giveBack = giveBack;
  }

  release(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
  }
}

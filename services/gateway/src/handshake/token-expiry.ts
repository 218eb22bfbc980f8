import type { TokenExpiringFrame } from '@event-gateway/protocol';
import type { Clock, Timer } from '@event-gateway/runtime';
import { DeadlineHeap, type Deadline } from './deadline-heap.js';

/** What of a connection its token's expiry concerns. */
export interface ExpiringConnection {
  writeControl(frame: TokenExpiringFrame): void;
  close(reason: 'token_expired'): void;
}

interface Expiry<C> extends Deadline {
  readonly connection: C;
  /** Unix ms. */
  expiresAtMs: number;
}

/** Tokens issued together expire together: ten thousand closes in one tick would hold up everybody's frames. */
const maxPerTick = 500;

/** Expiry is a matter of wall time, which may be set while a timer sleeps: look again at least this often. */
const maxSleepMs = 30_000;

/**
 * When the tokens of open connections end: `token.expiring` some time before, and the close at expiry. One timer for all of them, and
 * one small object a connection.
 */
export class TokenExpiry<C extends ExpiringConnection> {
  readonly name = 'token-expiry';
  readonly #clock: Clock;
  readonly #beforeMs: number;
  readonly #expiries = new Map<C, Expiry<C>>();
  /** By the next thing to do: the announcement, then the close. */
  readonly #heap = new DeadlineHeap<Expiry<C>>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor({ clock }: { readonly clock: Clock }, { tokenExpiringBeforeMs }: { readonly tokenExpiringBeforeMs: number }) {
    this.#clock = clock;
    this.#beforeMs = tokenExpiringBeforeMs;
  }

  /**
   * Watches a connection's token, or moves its expiry after a fresh one. Nothing is written before the current tick ends: an expiry
   * within the announcement time is announced after `hello` or `auth.ok`.
   * @param expiresAtMs Unix ms
   */
  watch(connection: C, expiresAtMs: number): void {
    const atMs = expiresAtMs - this.#beforeMs;
    const known = this.#expiries.get(connection);
    if (known === undefined) {
      const expiry = { connection, expiresAtMs, atMs, index: -1 };
      this.#expiries.set(connection, expiry);
      this.#heap.add(expiry);
    } else {
      known.expiresAtMs = expiresAtMs;
      this.#heap.move(known, atMs);
    }
    this.#arm();
  }

  /** The connection has closed. */
  forget(connection: C): void {
    const expiry = this.#expiries.get(connection);
    if (expiry === undefined) return;
    this.#expiries.delete(connection);
    this.#heap.remove(expiry);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    const first = this.#heap.first;
    if (first === undefined) return;
    const atMs = this.#clock.nowMs() + Math.min(maxSleepMs, Math.max(0, first.atMs - this.#clock.wallMs()));
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) return; // it wakes in time, and then looks again
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#clock.setTimeout(() => this.#onTimer(), atMs - this.#clock.nowMs());
  }

  #onTimer(): void {
    this.stop();
    const nowMs = this.#clock.wallMs();
    for (let i = 0; i < maxPerTick; i++) {
      const first = this.#heap.first;
      if (first === undefined || first.atMs > nowMs) break;
      this.#handle(first, nowMs);
    }
    this.#arm();
  }

  #handle(due: Expiry<C>, nowMs: number): void {
    const leftMs = due.expiresAtMs - nowMs;
    if (leftMs <= 0) {
      this.forget(due.connection);
      due.connection.close('token_expired');
      return;
    }
    this.#heap.move(due, due.expiresAtMs);
    due.connection.writeControl({ type: 'token.expiring', expires_in_ms: Math.ceil(leftMs) });
  }
}

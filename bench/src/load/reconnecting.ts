import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../host/monotonic-clock.js';
import type { ClientGroup, GroupClient } from './client-group.js';
import { LoadClient } from './load-client.js';

/** What clients do when their connection is gone: what the project's own client does. */
export interface ReconnectPolicy {
  /** Where to try, one of them at random. */
  readonly ports: readonly number[];
  /** The first attempt comes after a random part of this. */
  readonly jitterMs: number;
  /** Whether they say where to go on. */
  readonly sendsCursor: boolean;
  /** Sent once by each that is back, e.g. a request to catch up. */
  readonly thenSends?: string;
}

export interface ReconnectCounts {
  readonly lost: number;
  readonly back: number;
  readonly refused: number;
  readonly failed: number;
  /** On the machine's clock; 0 when nobody is back. */
  readonly lastBackUs: number;
}

/** Full jitter, doubling from here. */
const firstBackoffMs = 500;
const longestBackoffMs = 5000;

/** Brings the clients of a group back, each by itself. */
export class Reconnecting {
  readonly #group: ClientGroup;
  readonly #policy: ReconnectPolicy;
  #lost = 0;
  #back = 0;
  #refused = 0;
  #failed = 0;
  #lastBackUs = 0;
  #isOver = false;

  constructor(group: ClientGroup, policy: ReconnectPolicy) {
    this.#group = group;
    this.#policy = policy;
    group.onLost((client) => void this.#bringBack(client));
  }

  counts(): ReconnectCounts {
    return { lost: this.#lost, back: this.#back, refused: this.#refused, failed: this.#failed, lastBackUs: this.#lastBackUs };
  }

  /** Whoever is still away stays away. */
  stop(): void {
    this.#isOver = true;
  }

  async #bringBack(lost: GroupClient): Promise<void> {
    this.#lost++;
    await sleep(Math.random() * this.#policy.jitterMs);
    for (let attempt = 0; !this.#isOver && !(await this.#tryOnce(lost)); attempt++) {
      await sleep(Math.random() * Math.min(longestBackoffMs, firstBackoffMs * 2 ** attempt));
    }
    this.#back++;
    this.#lastBackUs = monotonicUs();
  }

  async #tryOnce({ user, cursor, localAddress }: GroupClient): Promise<boolean> {
    const { ports, sendsCursor, thenSends } = this.#policy;
    const port = ports[Math.floor(Math.random() * ports.length)] ?? 0;
    const client = new LoadClient(this.#group, user, { port, localAddress }, sendsCursor ? cursor : undefined);
    const opening = await client.opened();
    if (opening.outcome === 'open') {
      if (thenSends !== undefined) client.send(thenSends);
      return true;
    }
    if (opening.outcome === 'failed') this.#failed++;
    else {
      this.#refused++;
      await sleep((opening.retryAfterS ?? 0) * 1000);
    }
    return false;
  }
}

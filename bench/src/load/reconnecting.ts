import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../host/monotonic-clock.js';
import type { ClientGroup, GroupClient } from './client-group.js';
import { LoadClient } from './load-client.js';

/** When clients that have lost their connection try to come back. */
export type RetryPace =
  /**
   * As the project's own client: the first attempt after a random part of `jitterMs`, later ones with full jitter under a ceiling that
   * doubles. A browser does not show its page a refusal's Retry-After, so that is not looked at.
   */
  | { readonly kind: 'client'; readonly jitterMs: number }
  /** At once, and then always after the same short time, whatever they are told. */
  | { readonly kind: 'hasty'; readonly everyMs: number };

/** What clients do when their connection is gone. */
export interface ReconnectPolicy {
  /** Where to try, one of them at random. */
  readonly ports: readonly number[];
  /** Default false. */
  readonly isTls?: boolean;
  readonly pace: RetryPace;
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

/** The back-off of the project's client, in parts of its first wait: 1 s and 30 s where that is 5 s. */
const backoffBase = 1 / 5;
const backoffMost = 6;

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
    for (let failures = 0; ; failures++) {
      await sleep(waitMs(this.#policy.pace, failures));
      if (this.#isOver) return;
      if (await this.#tryOnce(lost)) break;
    }
    this.#back++;
    this.#lastBackUs = monotonicUs();
  }

  async #tryOnce({ user, cursor, localAddress }: GroupClient): Promise<boolean> {
    const { ports, isTls = false, sendsCursor, thenSends } = this.#policy;
    const port = ports[Math.floor(Math.random() * ports.length)] ?? 0;
    const client = new LoadClient(this.#group, user, { port, localAddress, isTls }, sendsCursor ? cursor : undefined);
    const opening = await client.opened();
    if (opening.outcome === 'open') {
      if (thenSends !== undefined) client.send(thenSends);
      return true;
    }
    if (opening.outcome === 'failed') this.#failed++;
    else this.#refused++;
    return false;
  }
}

function waitMs(pace: RetryPace, failures: number): number {
  if (pace.kind === 'hasty') return failures === 0 ? 0 : pace.everyMs;
  const ceilingMs = failures === 0 ? pace.jitterMs : pace.jitterMs * Math.min(backoffMost, backoffBase * 2 ** failures);
  return Math.random() * ceilingMs;
}

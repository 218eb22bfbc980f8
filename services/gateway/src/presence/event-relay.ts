import { decodePresenceMessage, encodeFrame, type PresenceMessage, type UserId } from '@event-gateway/protocol';
import type { Clock, Logger } from '@event-gateway/runtime';
import type { Audience } from './audience.js';
import { PacedJob } from './paced-job.js';
import { lastSeen } from './presence-entry.js';
import type { PresenceMetrics } from './presence-metrics.js';
import type { PresenceConnection, PresenceHub } from './presence-ports.js';
import type { Snapshots } from './snapshots.js';

export interface EventRelayDeps {
  readonly hub: PresenceHub;
  readonly audience: Audience;
  readonly snapshots: Pick<Snapshots, 'keep' | 'schedule'>;
  readonly metrics: PresenceMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Delivery {
  readonly message: PresenceMessage;
  readonly frame: string;
  readonly viewers: readonly UserId[];
  /** Index of the first viewer who has not been served. */
  next: number;
}

/** Sockets written before others have their turn: about two milliseconds (7 µs each). */
const sliceWrites = 256;
/** A mass transition (a replica died, a region came back) may pile up this many; beyond, a snapshot says it with less. */
const maxDeliveries = 20_000;

/** Transitions of the whole fleet → the connections of this replica whose users may see them. */
export class EventRelay {
  readonly #deps: EventRelayDeps;
  readonly #slices: PacedJob;
  readonly #backlog = new Set<Delivery>();
  /** Connections that missed a transition because their socket was full. */
  readonly #behind = new Set<PresenceConnection>();

  constructor(deps: EventRelayDeps) {
    this.#deps = deps;
    this.#slices = new PacedJob({ name: 'presence relay', clock: deps.clock, logger: deps.logger }, async () => this.#deliver());
  }

  stop(): void {
    void this.#slices.stop();
    this.#backlog.clear();
  }

  /** A message of `gateway.presence`. */
  onMessage(text: string): void {
    const message = decodePresenceMessage(text);
    if (message === undefined) {
      this.#deps.metrics.transition('malformed');
      return;
    }
    const viewers = this.#deps.audience.viewersOf(message.userId);
    if (viewers.size === 0 || !this.#deps.audience.isNews(message)) return;
    const isFirst = this.#backlog.size === 0;
    this.#backlog.add({ message, frame: frameOf(message), viewers: [...viewers], next: 0 });
    if (this.#backlog.size > maxDeliveries) this.#giveUp();
    else if (isFirst) this.#deliver();
  }

  /** Serves a slice, in order, and comes back for the rest. */
  #deliver(): number {
    let left = sliceWrites;
    for (const delivery of this.#backlog) {
      while (delivery.next < delivery.viewers.length && left > 0) {
        const viewer = delivery.viewers[delivery.next++];
        if (viewer !== undefined) left -= this.#write(viewer, delivery);
      }
      if (delivery.next < delivery.viewers.length) break;
      this.#backlog.delete(delivery);
    }
    if (this.#backlog.size > 0) this.#slices.request();
    return 0;
  }

  #write(viewer: UserId, { message, frame }: Delivery): number {
    const connections = this.#deps.hub.connectionsOf(viewer);
    for (const connection of connections) {
      if (this.#deps.snapshots.keep(connection, message, frame)) continue;
      if (connection.writeEphemeral(frame, 'presence') === false) this.#onMissed(connection);
    }
    return connections.length;
  }

  /** A full socket lost a transition: without more, its client would show a ghost until the next one. */
  #onMissed(connection: PresenceConnection): void {
    if (this.#behind.has(connection)) return;
    this.#behind.add(connection);
    void connection.drained().then(() => {
      this.#behind.delete(connection);
      if (connection.isOpen) this.#deps.snapshots.schedule(connection.userId);
    });
  }

  #giveUp(): void {
    const viewers = new Set<UserId>();
    for (const delivery of this.#backlog) for (const viewer of delivery.viewers) viewers.add(viewer);
    this.#backlog.clear();
    for (const viewer of viewers) this.#deps.snapshots.schedule(viewer);
  }
}

function frameOf({ userId, status, lastSeenMs, atMs }: PresenceMessage): string {
  const seen = status === 'offline' ? lastSeen(lastSeenMs) : {};
  return encodeFrame({ type: 'presence', user_id: userId, status, ...seen, at_ms: atMs });
}

import { randomUUID } from 'node:crypto';
import type { StreamId, UserId } from '@event-gateway/protocol';
import type { Clock } from '@event-gateway/runtime';
import { Connection, type ConnectionContext } from '../hub/connection.js';
import type { Heartbeat } from '../hub/heartbeat.js';
import type { Hub } from '../hub/hub.js';
import type { CloseReason, HubMetrics } from '../hub/hub-metrics.js';
import type { SlowWatch } from '../hub/slow-watch.js';
import type { Socket } from '../transport/socket.js';
import type { TokenExpiry } from './token-expiry.js';
import { cursorOf, type Grant } from './upgrade.js';

/** Everything that holds connections, or hears of them. */
export interface DoorDeps {
  readonly hub: Hub;
  readonly heartbeat: Heartbeat;
  readonly slowWatch: SlowWatch;
  readonly expiry: TokenExpiry<Connection>;
  readonly presence: { active(userId: UserId): void };
  /** Never rejects. */
  readonly resume: { begin(connection: Connection, cursor: string | undefined): Promise<void> };
  readonly metrics: HubMetrics;
  readonly clock: Clock;
  /** The last stream id that this replica has handled; null in pub/sub mode. */
  handledId(): StreamId | null;
}

export interface DoorOptions {
  /** OUTBOX_MAX_BYTES. */
  readonly outboxMaxBytes: number;
  readonly syncRequiredJitterMs: number;
  readonly maxConnectionsPerUser: number;
  /** The stream is not read: a cursor stands for nothing. */
  readonly isPubsub: boolean;
}

/** From a granted upgrade to a connection that everything knows, and out again through one door. */
export class Door {
  readonly #deps: DoorDeps;
  readonly #options: DoorOptions;
  readonly #context: ConnectionContext;

  constructor(deps: DoorDeps, options: DoorOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#context = {
      clock: deps.clock,
      metrics: deps.metrics,
      limits: { maxBytes: options.outboxMaxBytes },
      syncRequiredJitterMs: options.syncRequiredJitterMs,
      handledId: () => deps.handledId(),
      onActivity: ({ userId }) => deps.presence.active(userId),
      onBehind: (connection) => deps.slowWatch.add(connection),
      onClosed: (connection, reason) => this.#forget(connection, reason),
    };
  }

  /** The user's oldest connection over the limit is replaced. */
  open(grant: Grant, socket: Socket): Connection {
    const { hub, metrics, heartbeat, expiry, resume } = this.#deps;
    const cursor = this.#options.isPubsub ? undefined : cursorOf(grant);
    const connection = new Connection(randomUUID(), grant.userId, cursor, socket, this.#context);
    metrics.opened();
    hub.add(connection);
    grant.place.release();
    heartbeat.add(connection);
    expiry.watch(connection, grant.expiresAtMs);
    const [oldest, ...others] = hub.connectionsOf(grant.userId);
    if (others.length >= this.#options.maxConnectionsPerUser) oldest?.close('replaced');
    void resume.begin(connection, grant.cursor);
    return connection;
  }

  #forget(connection: Connection, reason: CloseReason): void {
    const { hub, heartbeat, slowWatch, expiry, metrics } = this.#deps;
    hub.remove(connection);
    heartbeat.remove(connection);
    slowWatch.remove(connection);
    expiry.forget(connection);
    metrics.closed(reason);
  }
}

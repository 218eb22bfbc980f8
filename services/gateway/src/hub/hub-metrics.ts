import { CLOSE_CODES, DEFINED_EVENT_TYPES, type ServerCloseReason, type ServerFrameType } from '@event-gateway/protocol';
import type { Counter, Metrics } from '@event-gateway/runtime';

/** Why a connection ended: one of the gateway's own reasons, or the client (or the network) did it. */
export type CloseReason = ServerCloseReason | 'client';

/** Why a frame did not leave: its socket was over budget, was catching up, or the transport refused it. */
export type DropReason = 'ephemeral' | 'slow_consumer' | 'transport';

const controlTypes: readonly ServerFrameType[] = [
  'hello',
  'typing',
  'presence',
  'presence.snapshot',
  'sync.complete',
  'sync.required',
  'token.expiring',
  'auth.ok',
  'reconnect',
  'pong',
  'error',
];
const closeReasons: readonly string[] = [...Object.keys(CLOSE_CODES), 'client'];
const dropReasons: readonly DropReason[] = ['ephemeral', 'slow_consumer', 'transport'];

interface FrameCount {
  frames: number;
}

/** What the sockets of this replica did. Frames are counted in plain numbers and handed over at a scrape: they are the hot path. */
export class HubMetrics {
  readonly #frames = new Map<string, FrameCount>();
  readonly #otherFrames: FrameCount = { frames: 0 };
  /** Most frames are of the type of the one before: two look-ups less for each. */
  #lastType: string | undefined;
  #lastFrames = this.#otherFrames;
  #frameBytes = 0;
  readonly #opened: Counter;
  readonly #closed: Counter;
  readonly #dropped: Counter;

  constructor(metrics: Metrics, hub: { readonly connectionCount: number; readonly userCount: number }) {
    const types = [...controlTypes, ...DEFINED_EVENT_TYPES];
    for (const type of types) this.#frames.set(type, { frames: 0 });
    const connections = metrics.gauge('gateway_connections', 'Open WebSocket connections of this replica.');
    const users = metrics.gauge('gateway_users', 'Users with at least one connection on this replica.');
    this.#opened = metrics.counter('gateway_connections_opened_total', 'Connections opened.');
    this.#closed = metrics.counter('gateway_connections_closed_total', 'Connections closed, by reason.', {
      labels: { reason: closeReasons },
    });
    const sent = metrics.counter('gateway_frames_sent_total', 'Frames handed to sockets, by type.', {
      labels: { type: [...types, 'other'] },
    });
    const bytes = metrics.counter('gateway_frame_bytes_total', 'Bytes of the frames handed to sockets.');
    this.#dropped = metrics.counter('gateway_frames_dropped_total', 'Frames that did not leave, by reason.', {
      labels: { reason: dropReasons },
    });
    metrics.onScrape(() => {
      connections.set(hub.connectionCount);
      users.set(hub.userCount);
      for (const [type, count] of [...this.#frames, ['other', this.#otherFrames] as const]) {
        if (count.frames > 0) sent.add(count.frames, { type });
        count.frames = 0;
      }
      bytes.add(this.#frameBytes);
      this.#frameBytes = 0;
    });
  }

  opened(): void {
    this.#opened.add();
  }

  closed(reason: CloseReason): void {
    this.#closed.add(1, { reason });
  }

  sent(type: string, bytes: number): void {
    if (type !== this.#lastType) {
      this.#lastType = type;
      this.#lastFrames = this.#frames.get(type) ?? this.#otherFrames;
    }
    this.#lastFrames.frames++;
    this.#frameBytes += bytes;
  }

  dropped(reason: DropReason): void {
    this.#dropped.add(1, { reason });
  }
}

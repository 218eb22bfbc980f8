import type { Envelope, StreamId, UserId } from '@event-gateway/protocol';
import { EventFrames } from '../frames/build-frame.js';
import type { FrameCards } from '../frames/frame-cards.js';
import type { Connection } from '../hub/connection.js';
import type { LocalUser } from '../hub/hub.js';

/** An event and the users here that it goes to. */
export class Delivery {
  /** Null in pub/sub mode. */
  readonly id: StreamId | null;
  readonly position: number;
  readonly envelope: Envelope;
  readonly users: readonly LocalUser[];

  constructor(id: StreamId | null, position: number, envelope: Envelope, users: readonly LocalUser[]) {
    this.id = id;
    this.position = position;
    this.envelope = envelope;
    this.users = users;
  }

  /** Walked only for direct dialogs, whose frames differ by viewer. */
  get viewers(): Iterable<UserId> {
    return userIdsOf(this.users);
  }
}

function* userIdsOf(users: readonly LocalUser[]): IterableIterator<UserId> {
  for (const { userId } of users) yield userId;
}

/**
 * Writing to 5,000 sockets takes some 33 ms; after this many writes others get their turn (about 6 ms), in the middle of a
 * batch if need be. Order per socket is kept, since nothing else writes durable frames.
 */
const maxWritesPerTurn = 1000;

/** What the writer reports. */
export interface WriteReport {
  delivered(connections: number): void;
  /** A fault of ours over one event: its neighbours go on. */
  failed(delivery: Delivery, error: unknown): void;
}

/**
 * Steps 5 and 6: builds each event's frames, once per variant, and writes them to every socket in stream order. Frames of one
 * socket leave in one packet per turn. Resolves when the last one is written.
 */
export async function writeFrames(deliveries: readonly Delivery[], cards: FrameCards, report: WriteReport): Promise<void> {
  let dirty: Connection[] = [];
  let writes = 0;
  for (const delivery of deliveries) {
    const frames = new EventFrames(delivery.envelope, delivery.id, cards);
    let connections = 0;
    try {
      for (const user of delivery.users) {
        connections += enqueue(delivery, frames.for(user.userId), user.connections, dirty);
        if (writes + connections < maxWritesPerTurn) continue;
        flush(dirty);
        dirty = [];
        writes = -connections;
        await new Promise(setImmediate);
      }
    } catch (error) {
      report.failed(delivery, error);
    }
    writes += connections;
    report.delivered(connections);
  }
  flush(dirty);
}

function enqueue(delivery: Delivery, frame: Uint8Array, connections: readonly Connection[], dirty: Connection[]): number {
  for (const connection of connections)
    if (connection.enqueue(frame, delivery.envelope.type, delivery.position, delivery.id)) dirty.push(connection);
  return connections.length;
}

function flush(connections: readonly Connection[]): void {
  for (const connection of connections) connection.flush();
}

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

/** Writing to 5,000 sockets takes some 33 ms: after this many sockets others get their turn (about 6 ms). */
const socketsPerTurn = 1000;
/** Frames that wait for their sockets to be written to, at most. The more of them one socket has, the less each costs. */
const maxQueuedFrames = 20_000;

/** What the writer reports. */
export interface WriteReport {
  delivered(connections: number): void;
  /** A fault of ours over one event: its neighbours go on, and those who were to be sent it have been told to sync. */
  lost(delivery: Delivery, error: unknown): void;
}

/**
 * Steps 5 and 6: builds each event's frames, once per variant, and writes them to every socket in stream order. Whatever a batch has
 * for one socket leaves in one packet (eight frames at once cost a sixth of eight frames one by one). Resolves when the last one is
 * written; nothing else writes durable frames meanwhile, so order per socket holds across the turns.
 */
export async function writeFrames(deliveries: readonly Delivery[], cards: FrameCards, report: WriteReport): Promise<void> {
  let dirty: Connection[] = [];
  let queued = 0;
  for (const delivery of deliveries) {
    let connections: number;
    try {
      connections = enqueue(delivery, new EventFrames(delivery.envelope, delivery.id, cards), dirty);
    } catch (error) {
      tellLost(delivery);
      report.lost(delivery, error);
      continue;
    }
    queued += connections;
    report.delivered(connections);
    if (queued < maxQueuedFrames) continue;
    await flush(dirty);
    dirty = [];
    queued = 0;
  }
  await flush(dirty);
}

function enqueue({ id, position, envelope, users }: Delivery, frames: EventFrames, dirty: Connection[]): number {
  let queued = 0;
  for (const { userId, connections } of users) {
    const frame = frames.for(userId);
    for (const connection of connections) if (connection.enqueue(frame, envelope.type, position, id)) dirty.push(connection);
    queued += connections.length;
  }
  return queued;
}

/** There is a hole where the event would have been, behind what is queued already. A sync too many for those who were queued it. */
function tellLost({ id, position, users }: Delivery): void {
  for (const { connections } of users) for (const connection of connections) connection.lose(position, id);
}

/** A promise only when there are more than one turn takes. */
function flush(dirty: readonly Connection[]): Promise<void> | undefined {
  if (dirty.length > socketsPerTurn) return flushInTurns(dirty);
  for (const connection of dirty) connection.flush();
  return undefined;
}

async function flushInTurns(dirty: readonly Connection[]): Promise<void> {
  for (const [index, connection] of dirty.entries()) {
    if (index > 0 && index % socketsPerTurn === 0) await new Promise(setImmediate);
    connection.flush();
  }
}

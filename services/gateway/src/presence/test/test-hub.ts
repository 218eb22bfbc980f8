import type { ServerFrame, UserId } from '@event-gateway/protocol';
import type { PresenceConnection, PresenceHub } from '../presence-ports.js';

/** A connection that remembers what was written to it. */
export class TestConnection implements PresenceConnection {
  readonly userId: UserId;
  readonly frames: ServerFrame[] = [];
  isOpen = true;
  /** A full socket drops what is ephemeral. */
  isFull = false;
  #drained: (() => void)[] = [];

  constructor(userId: UserId) {
    this.userId = userId;
  }

  writeControl(frame: ServerFrame): void {
    this.frames.push(frame);
  }

  writeEphemeral(frame: string): boolean {
    if (this.isFull) return false;
    this.frames.push(JSON.parse(frame));
    return true;
  }

  drained(): Promise<void> {
    return this.isFull ? new Promise((resolve) => this.#drained.push(resolve)) : Promise.resolve();
  }

  drain(): void {
    this.isFull = false;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** The statuses of a user that `presence` frames told, in order. */
  told(userId: string): string[] {
    return this.frames.flatMap((frame) => (frame.type === 'presence' && frame.user_id === userId ? [frame.status] : []));
  }

  snapshots(): Extract<ServerFrame, { type: 'presence.snapshot' }>[] {
    return this.frames.filter((frame) => frame.type === 'presence.snapshot');
  }

  /** What a client that obeys the contract believes of a user. */
  believes(userId: string): string | undefined {
    let best: { readonly status: string; readonly at_ms: number } | undefined;
    for (const frame of this.frames) {
      const entries = frame.type === 'presence' ? [frame] : frame.type === 'presence.snapshot' ? frame.presence : [];
      for (const entry of entries) if (entry.user_id === userId && entry.at_ms >= (best?.at_ms ?? 0)) best = entry;
    }
    return best?.status;
  }
}

/** An index of connections, as presence needs it. */
export class TestHub implements PresenceHub {
  readonly #users = new Map<UserId, TestConnection[]>();
  readonly #joined: ((userId: UserId) => void)[] = [];
  readonly #left: ((userId: UserId) => void)[] = [];

  connect(userId: UserId): TestConnection {
    const connection = new TestConnection(userId);
    const connections = this.#users.get(userId);
    if (connections !== undefined) {
      connections.push(connection);
      return connection;
    }
    this.#users.set(userId, [connection]);
    for (const listener of this.#joined) listener(userId);
    return connection;
  }

  close(connection: TestConnection): void {
    if (!connection.isOpen) return;
    connection.isOpen = false;
    const rest = (this.#users.get(connection.userId) ?? []).filter((other) => other !== connection);
    if (rest.length > 0) {
      this.#users.set(connection.userId, rest);
      return;
    }
    this.#users.delete(connection.userId);
    for (const listener of this.#left) listener(connection.userId);
  }

  users(): UserId[] {
    return [...this.#users.keys()];
  }

  connectionsOf(userId: UserId): readonly TestConnection[] {
    return this.#users.get(userId) ?? [];
  }

  onUserJoined(listener: (userId: UserId) => void): void {
    this.#joined.push(listener);
  }

  onUserLeft(listener: (userId: UserId) => void): void {
    this.#left.push(listener);
  }
}

/** An id for tests, where it is written by hand. */
export const user = (id: string): UserId => id as UserId;

import type { PresenceEntry, ServerFrame, UserId } from '@event-gateway/protocol';

/** What presence needs of a connection. */
export interface PresenceConnection {
  readonly userId: UserId;
  readonly isOpen: boolean;
  writeControl(frame: ServerFrame): void;
  /** Returns `false` when the frame was dropped because the socket is full; anything else is as good as written. */
  writeEphemeral(frame: string, type: 'presence'): unknown;
  /** Resolves when the socket has room again, or has closed. */
  drained(): Promise<void>;
}

/** What presence needs of the hub: who is here, and who came and went. */
export interface PresenceHub {
  connectionsOf(userId: UserId): readonly PresenceConnection[];
  /** Called with every user whose first connection has opened here. */
  onUserJoined(listener: (userId: UserId) => void): void;
  /** Called with every user whose last connection here has closed. */
  onUserLeft(listener: (userId: UserId) => void): void;
}

/** Where published states are read; never rejects. */
export interface PresenceReader {
  /** One round trip; undefined when Redis failed. */
  read(users: readonly UserId[]): Promise<PresenceEntry[] | undefined>;
  /** Redis's time now, Unix ms; undefined while it was never heard. */
  redisNowMs(): number | undefined;
}

import type { DurableFrame, HelloFrame, MessageFrame, PresenceEntry } from './frames.js';
import type { EventOrigin } from './inbox.js';
import type { TypingChange } from './typing.js';

/**
 * For a UI: `idle` not started · `connecting` for the first time · `online` connected and whole · `syncing` connected, something is
 * missing yet · `reconnecting` it broke, the next attempt runs or is due · `offline` no network, or nobody looks: waits ·
 * `closed` for good, until `connect()`.
 */
export type ConnectionState = 'idle' | 'connecting' | 'online' | 'syncing' | 'reconnecting' | 'offline' | 'closed';

export interface ConnectionStatus {
  readonly state: ConnectionState;
  /**
   * A close code's reason (see `CLOSE_CODES`), or `network` `heartbeat` `connect_timeout` `connect_failed` `token_unavailable`
   * `signed_out` `user_changed` `no_network` `hidden` `frozen` `closed`; while syncing, why the last sync failed.
   */
  readonly reason?: string | undefined;
  readonly closeCode?: number | undefined;
  /** While reconnecting: how long until the next attempt, from the moment of this status. */
  readonly retryInMs?: number | undefined;
}

export interface ClientError {
  /** `token_unavailable` `connect_failed` `storage_failed`, or the code of the gateway's `error` frame. */
  readonly code: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** What can be listened to. Durable events come with their origin as a second argument. */
export interface ClientEvents {
  /** A new message, exactly once, in seq order within its conversation. */
  message: MessageFrame;
  'message.new': MessageFrame;
  'message.edited': MessageFrame;
  'message.deleted': MessageFrame;
  'receipt.delivered': DurableFrame;
  'receipt.read': DurableFrame;
  'reaction.added': DurableFrame;
  'reaction.removed': DurableFrame;
  'conversation.created': DurableFrame;
  'conversation.updated': DurableFrame;
  'member.changed': DurableFrame;
  /** Every durable event, those above and those of types that only the messenger knows. */
  event: DurableFrame;
  typing: TypingChange;
  presence: PresenceEntry;
  status: ConnectionStatus;
  hello: HelloFrame;
  /** A sync has ended: nothing is missing any more, in any conversation, up to these seqs. */
  synced: ReadonlyMap<string, number>;
  error: ClientError;
}

/** A type that only the messenger knows, when its name has a dot in it (`order.paid`); others come as `event`. */
export type DottedType = `${string}.${string}`;

export type ClientListener<Type extends keyof ClientEvents> = (payload: ClientEvents[Type], origin: EventOrigin) => void;

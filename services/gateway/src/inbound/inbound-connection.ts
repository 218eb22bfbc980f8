import type { AuthOkFrame, ErrorFrame, PongFrame, UserId } from '@event-gateway/protocol';

/** Why a frame can end its connection. */
export type InboundCloseReason = 'protocol_violation' | 'flooding' | 'too_big' | 'token_refused';

/** What a handler comes to: the connection goes on, or is to be closed. */
export type HandlerResult = 'ok' | InboundCloseReason;

/** What of a connection its frames concern. */
export interface InboundConnection {
  readonly userId: UserId;
  readonly isOpen: boolean;
  /** `hello` has been sent, or the connection has closed: nothing is answered before that. */
  readonly isGreeted: boolean;
  /** Resolves as soon as `isGreeted`. */
  greeted(): Promise<void>;
  writeControl(frame: PongFrame | ErrorFrame | AuthOkFrame): void;
  close(reason: InboundCloseReason): void;
}

import type { UserId } from '@event-gateway/protocol';

/** A pair that became, or ceased to be, visible: `viewer` is here, `peer` may be anywhere. */
export interface PeerChange {
  readonly viewer: UserId;
  readonly peer: UserId;
}

/** What changed by something that was learned. */
export interface Lesson {
  readonly learned: readonly PeerChange[];
  readonly forgotten: readonly PeerChange[];
}

import type { SyncFrame } from '@event-gateway/protocol';
import type { HandlerResult } from './inbound-connection.js';

/** Who catches a client up. It answers by itself: frames, `sync.complete`, `sync_in_progress`, `sync_unavailable`. */
export interface SyncPort<C> {
  onSync(connection: C, frame: SyncFrame): void;
}

export function onSync<C>(connection: C, frame: SyncFrame, sync: SyncPort<C>): HandlerResult {
  sync.onSync(connection, frame);
  return 'ok';
}

import type { FrameCursor } from '@event-gateway/protocol';
import type { HandlerResult, InboundConnection } from './inbound-connection.js';

/** Answers a ping. The cursor keeps a client resumable that gets no events; undefined while its socket catches up. */
export function onPing(connection: InboundConnection, cursor: FrameCursor | undefined): HandlerResult {
  connection.writeControl(cursor === undefined ? { type: 'pong' } : { type: 'pong', cursor });
  return 'ok';
}

import type { GatewayConfig } from './config.js';
import { maxSocketsOf, readFdLimit } from './handshake/max-connections.js';
import type { UwsServerOptions } from './transport/uws-server.js';

/** The transport's own limits, all of them above ours: it cuts without a code, and drops without a word. */
export function transportOptions(config: GatewayConfig): UwsServerOptions {
  return {
    host: config.HOST,
    port: config.PORT,
    path: '/api/v1/ws',
    maxPayloadBytes: 2 * config.MAX_FRAME_BYTES + 65_536,
    maxBackpressureBytes: 3 * config.OUTBOX_MAX_BYTES + 3 * config.MAX_ENTRY_BYTES,
    idleTimeoutS: Math.min(960, Math.max(8, Math.ceil((3 * config.HEARTBEAT_MS) / 1000))),
    // Twice what may be accepted: enough to use the accept rate up, and to say so to the others.
    requestsPerSecond: 2 * config.UPGRADES_PER_SECOND,
    maxSockets: maxSocketsOf(readFdLimit()),
  };
}

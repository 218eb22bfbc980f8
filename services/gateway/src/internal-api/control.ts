import { decodeControlMessage } from '@event-gateway/protocol';
import type { Logger } from '@event-gateway/runtime';

/** What of the hub an administrator's message concerns. */
export interface ControlledHub {
  connectionsOf(userId: string): readonly { close(reason: 'administrator', override: { code: number; reason: string }): void }[];
}

/** Acts on `gateway.control`: what one replica's internal port was asked for is done on all. */
export class Control {
  readonly #hub: ControlledHub;
  readonly #logger: Logger;

  constructor(hub: ControlledHub, logger: Logger) {
    this.#hub = hub;
    this.#logger = logger;
  }

  /** A message of the channel. One that is not understood is ignored: a newer replica may have sent it. */
  onMessage(text: string): void {
    const message = decodeControlMessage(text);
    if (message === undefined) return;
    const { userId, code, reason } = message;
    const connections = this.#hub.connectionsOf(userId);
    for (const connection of connections) connection.close('administrator', { code, reason });
    if (connections.length > 0) this.#logger.info({ code, connections: connections.length }, 'user disconnected by an administrator');
  }
}

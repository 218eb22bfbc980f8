import { centrifugoProtocol } from './centrifugo-protocol.js';
import type { ClientProtocol } from './client-protocol.js';
import { gatewayProtocol } from './gateway-protocol.js';
import { plainProtocol } from './plain-protocol.js';
import { socketIoProtocol } from './socket-io-protocol.js';

export const protocols = {
  gateway: gatewayProtocol,
  'socket-io': socketIoProtocol,
  plain: plainProtocol,
  centrifugo: centrifugoProtocol,
} satisfies Record<string, ClientProtocol>;

export type ProtocolName = keyof typeof protocols;

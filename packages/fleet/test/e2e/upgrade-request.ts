/** What asks for a WebSocket, as header lines. */
export const upgradeHeaders =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** A whole request, of somebody without a token. */
export const upgradeRequest = `GET /api/v1/ws HTTP/1.1\r\nHost: x\r\n${upgradeHeaders}\r\n`;

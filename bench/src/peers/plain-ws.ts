// What a team writes in an afternoon: `ws`, a map of users, and one pub/sub channel that every replica hears.
import { Redis } from 'ioredis';
import { type WebSocket, WebSocketServer } from 'ws';
import { decodePlainMessage, type PlainMessage } from './decode-plain-message.js';
import { readPeerOptions } from './read-peer-options.js';

const { port, redisUrl } = readPeerOptions();
const socketsByUser = new Map<string, Set<WebSocket>>();

const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: false, clientTracking: false });
server.on('connection', (socket, request) => {
  const user = new URL(request.url ?? '/', 'http://localhost').searchParams.get('user') ?? '';
  const sockets = socketsByUser.get(user) ?? new Set();
  socketsByUser.set(user, sockets.add(socket));
  socket.on('close', () => {
    sockets.delete(socket);
    if (sockets.size === 0) socketsByUser.delete(user);
  });
});

function deliver({ recipients, envelope }: PlainMessage): void {
  let frame: Buffer | undefined;
  for (const user of recipients) {
    for (const socket of socketsByUser.get(user) ?? []) {
      // Once for all recipients, and as bytes: a string would be encoded again for every socket.
      frame ??= Buffer.from(JSON.stringify(envelope));
      socket.send(frame, { binary: false });
    }
  }
}

const subscriber = new Redis(redisUrl);
subscriber.on('message', (_channel: string, text: string) => deliver(decodePlainMessage(text)));
await subscriber.subscribe('events');

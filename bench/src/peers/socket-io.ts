// Socket.IO 4 with its adapter for Redis Streams, set up as its documentation advises for many connections.
import { createServer } from 'node:http';
import { createAdapter } from '@socket.io/redis-streams-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import uWS from 'uWebSockets.js';
import { readPeerOptions } from './read-peer-options.js';

const { port, redisUrl, engine } = readPeerOptions();
const redis = new Redis(redisUrl);

const io = new Server({
  // As many entries a read as the gateway takes; the default is 100. A stream's length is set by whoever publishes.
  adapter: createAdapter(redis, { readCount: 256, onlyPlaintext: true }),
  transports: ['websocket'],
  serveClient: false,
  perMessageDeflate: false,
});

io.on('connection', (socket) => {
  // A room for each user, so that an event names its recipients. Nothing is verified: no peer pays for a token.
  const auth: { user?: unknown } = socket.handshake.auth;
  void socket.join(String(auth.user));
});

if (engine === 'uws') {
  const app = uWS.App();
  io.attachApp(app);
  app.listen('127.0.0.1', port, (listening) => {
    if (listening === false) throw new Error(`port ${port} is taken`);
  });
} else {
  const http = createServer();
  io.attach(http);
  http.listen(port, '127.0.0.1');
}

// From the documentation's page on memory: without this every connection keeps its upgrade request.
io.engine.on('connection', (socket: { request: unknown }) => {
  socket.request = null;
});

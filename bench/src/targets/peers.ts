import { fileURLToPath } from 'node:url';
import { type FleetHome, freePort, startRedisServer } from '@event-gateway/fleet';
import { ServerProcess } from './server-process.js';
import type { Target } from './target.js';

const program = (name: string): string => fileURLToPath(new URL(`../peers/${name}.js`, import.meta.url));

export async function startSocketIo(home: FleetHome, engine: 'ws' | 'uws'): Promise<Target> {
  const name = engine === 'uws' ? 'socket.io-uws' : 'socket.io';
  return { name, protocol: 'socket-io', format: 'socket-io', ...(await startPeer(home, name, 'socket-io', ['--engine', engine])) };
}

export async function startPlainWs(home: FleetHome): Promise<Target> {
  return { name: 'plain-ws', protocol: 'plain', format: 'plain', ...(await startPeer(home, 'plain-ws', 'plain-ws', [])) };
}

async function startPeer(
  home: FleetHome,
  name: string,
  programName: string,
  args: readonly string[],
): Promise<Pick<Target, 'redis' | 'servers'>> {
  // Redis would cut off a subscriber that is behind: a stopped one is meant to be.
  const redis = await startRedisServer({ home, args: ['--client-output-buffer-limit', 'pubsub', '0', '0', '0'] });
  const port = await freePort();
  const options = ['--port', String(port), '--redis', redis.url, ...args];
  const server = new ServerProcess({
    home,
    name: `${name}-${port}`,
    port,
    command: process.execPath,
    args: [program(programName), ...options],
  });
  await server.untilListening();
  return { redis, servers: [server] };
}

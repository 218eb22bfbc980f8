import { createServer } from 'node:net';

// Below what kernels hand out to outgoing connections (Linux from 32,768, macOS from 49,152): a port of a killed process is still
// there when it is started again.
const lowestPort = 10_240;
const highestPort = 32_000;

/** A TCP port on which nobody listens on the loopback interface right now: `preferred` if that is one. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (;;) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

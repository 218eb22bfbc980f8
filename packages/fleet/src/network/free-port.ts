import { createServer } from 'node:net';

// Below what kernels hand out to outgoing connections (Linux from 32,768, macOS from 49,152): a port of a killed process is still
// there when it is started again.
const lowestPort = 10_240;
const highestPort = 32_000;

// A port is free until its process listens. What this process was given is not given again, and processes that look at the same moment
// (test workers, whose ids are neighbours) look in different places.
const slots = 16;
const portsPerSlot = Math.floor((highestPort - lowestPort) / slots);
const firstPort = lowestPort + (process.pid % slots) * portsPerSlot;
const given = new Set<number>();

/** A TCP port on which nobody listens on the loopback interface right now: `preferred` if that is one. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * portsPerSlot);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    // A process that lives long has had them all: by then the first ones are free again.
    if (given.size > portsPerSlot / 2) given.clear();
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

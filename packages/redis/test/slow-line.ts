import { connect, createServer } from 'node:net';

/** A way to a port of this machine on which answers travel at 64 KiB every 15 ms. */
export async function slowLine(port: number): Promise<{ port: number; close(): void }> {
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    near.pipe(far);
    far.on('data', (chunk) => {
      near.write(chunk);
      far.pause();
      setTimeout(() => far.resume(), (15 * chunk.length) / 65_536);
    });
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.on('close', () => far.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, close: () => server.close() };
}

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { fetchJwks, JwksUnavailableError } from './jwks-source.js';

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
  server = undefined;
});

async function serve(listener: RequestListener): Promise<string> {
  const started = createServer(listener);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}/jwks?x=1`;
}

const never = new AbortController().signal;

describe('fetchJwks', () => {
  test('gets the JSON with one request on a connection that is not kept', async () => {
    const url = await serve((request, response) => {
      expect([request.method, request.url, request.headers.connection]).toEqual(['GET', '/jwks?x=1', 'close']);
      response.end('{"keys":[]}');
    });
    expect(await fetchJwks(url, never)).toEqual({ keys: [] });
  });

  test.each([204, 301, 404, 500, 503])('an answer of %d is a fault', async (status) => {
    const url = await serve((_, response) => response.writeHead(status, { location: '/elsewhere' }).end());
    await expect(fetchJwks(url, never)).rejects.toThrow(new JwksUnavailableError(`the JWKS endpoint answered ${status}`));
  });

  test('what is not JSON is a fault', async () => {
    const url = await serve((_, response) => response.end('<html>'));
    await expect(fetchJwks(url, never)).rejects.toBeInstanceOf(JwksUnavailableError);
  });

  test('a refused connection is a fault', async () => {
    await expect(fetchJwks('http://127.0.0.1:1/', never)).rejects.toMatchObject({ code: 'JWKS_UNAVAILABLE', retryable: true });
  });

  test('an endless answer is cut off', async () => {
    let sentBytes = 0;
    const url = await serve((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sentBytes += 65_536;
      };
      response.on('drain', more);
      more();
    });
    await expect(fetchJwks(url, never)).rejects.toThrow('larger than 262144 bytes');
    expect(sentBytes).toBeLessThan(50_000_000);
  });

  test('a silent endpoint is given up on in time', async () => {
    const url = await serve(() => undefined);
    await expect(fetchJwks(url, never, 100)).rejects.toBeInstanceOf(JwksUnavailableError);
  });

  test('an endpoint that drips its answer is given up on in time', async () => {
    const url = await serve((_, response) => {
      const drip = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(drip));
    });
    await expect(fetchJwks(url, never, 200)).rejects.toBeInstanceOf(JwksUnavailableError);
  });

  test('a stop ends a request that is waiting', async () => {
    const stop = new AbortController();
    const url = await serve(() => stop.abort());
    await expect(fetchJwks(url, stop.signal)).rejects.toBeInstanceOf(JwksUnavailableError);
  });
});

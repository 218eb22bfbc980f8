import { createServer, type Server } from 'node:http';
import { request } from 'node:https';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { eventually } from '../eventually.js';
import { freePort } from '../network/free-port.js';
import { FleetHome } from '../processes/fleet-home.js';
import { RecordingClient } from '../tools/recording-client.js';
import { Nginx } from './nginx.js';
import { renderTemplate } from './render-template.js';

let home: FleetHome;
const backends: Server[] = [];

beforeEach(() => {
  home = new FleetHome();
});

afterEach(async () => {
  await home.close();
  for (const backend of backends.splice(0)) {
    backend.closeAllConnections();
    backend.close();
  }
});

/** A stand-in for a replica: says its name to every socket, or refuses every upgrade with `status`. */
async function startBackend(name: string, refuseWith?: number): Promise<number> {
  const server = createServer((incoming, response) =>
    response.end(`${name} ${incoming.url} ${String(incoming.headers['x-forwarded-for'])}`),
  );
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (incoming, socket, head) => {
    if (refuseWith !== undefined) {
      socket.end(`HTTP/1.1 ${refuseWith} Refused\r\nRetry-After: 7\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`);
      return;
    }
    sockets.handleUpgrade(incoming, socket, head, (client) => client.send(JSON.stringify({ type: 'hello', name })));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  backends.push(server);
  return port;
}

function get(nginx: Nginx, path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ port: nginx.port, host: '127.0.0.1', path, headers, rejectUnauthorized: false, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    asked.once('error', reject);
    asked.end();
  });
}

const hello = async (nginx: Nginx): Promise<unknown> => {
  const client = await RecordingClient.open({ url: nginx.wsUrl, token: 'secret-token', trusts: nginx.certificate.pem });
  return (await client.waitFor('hello'))['name'];
};

test('nginx accepts the rendered template without a word of warning', async () => {
  const nginx = await Nginx.prepare({
    home,
    gatewayPorts: [1111, 2222],
    sandboxUrl: 'http://127.0.0.1:3333',
  });
  const said = await nginx.test();
  expect(said).toContain('test is successful');
  expect(said).not.toMatch(/warn|emerg|alert/);
});

describe('a started nginx', () => {
  test('upgrades over wss with the certificate it was given, and spreads sockets over the replicas', async () => {
    const nginx = await Nginx.start({ home, gatewayPorts: [await startBackend('one'), await startBackend('two')] });
    const names = await Promise.all([hello(nginx), hello(nginx)]);
    expect(names.sort()).toEqual(['one', 'two']);
  });

  test('goes around a replica that is dead and around one that answers 503', async () => {
    const nginx = await Nginx.start({ home, gatewayPorts: [await freePort(), await startBackend('alive')] });
    for (let i = 0; i < 4; i++) expect(await hello(nginx)).toBe('alive');
    const other = new FleetHome();
    try {
      const behind503 = await Nginx.start({
        home: other,
        gatewayPorts: [await startBackend('draining', 503), await startBackend('alive')],
      });
      for (let i = 0; i < 4; i++) expect(await hello(behind503)).toBe('alive');
    } finally {
      await other.close();
    }
  });

  test('passes a replica’s own 503 as it is when there is nobody else', async () => {
    const nginx = await Nginx.start({ home, gatewayPorts: [await startBackend('full', 503)] });
    await expect(hello(nginx)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '7' }, body: '{}' });
  });

  test('says 503 with a Retry-After in the gateway’s words when no replica answers', async () => {
    const nginx = await Nginx.start({ home, gatewayPorts: [await freePort()] });
    await expect(hello(nginx)).rejects.toMatchObject({
      status: 503,
      code: 'rate_limited',
      headers: { 'retry-after': expect.stringMatching(/^[1-5]$/), 'content-type': 'application/json' },
    });
  });

  test('limits connections of one address with the same answer', async () => {
    const nginx = await Nginx.start({
      home,
      gatewayPorts: [await startBackend('one')],
      values: { CONNECTIONS_PER_ADDRESS: '2', WORKER_PROCESSES: '1' },
    });
    await Promise.all([hello(nginx), hello(nginx)]);
    await expect(hello(nginx)).rejects.toMatchObject({ status: 503, code: 'rate_limited' });
  });

  test.each(['/internal', '/internal/presence?users=a', '/metrics', '//internal/x', '/%69nternal/x', '/x/../internal/x', '/metrics/'])(
    '%s is refused',
    async (path) => {
      const nginx = await Nginx.start({
        home,
        gatewayPorts: [await startBackend('one')],
        sandboxUrl: `http://127.0.0.1:${await startBackend('box')}`,
      });
      expect(await get(nginx, path)).toMatchObject({ status: 403 });
    },
  );

  test('without another location everything but the WebSocket is 404, with one it goes there', async () => {
    const gatewayPorts = [await startBackend('one')];
    const alone = await Nginx.start({ home, gatewayPorts });
    expect((await get(alone, '/')).status).toBe(404);
    expect((await get(alone, '/api/v1/ws')).body).toBe('one /api/v1/ws 127.0.0.1');
    await alone.stop();
    const withSandbox = await Nginx.start({ home, gatewayPorts, sandboxUrl: `http://127.0.0.1:${await startBackend('box')}` });
    expect((await get(withSandbox, '/any?x=1', { 'x-forwarded-for': '6.6.6.6' })).body).toBe('box /any?x=1 127.0.0.1');
  });

  test('refuses a request line over 8 KiB and writes no token into any log', async () => {
    const nginx = await Nginx.start({ home, gatewayPorts: [await freePort(), await startBackend('one')] });
    const client = await RecordingClient.open({ url: nginx.wsUrl, token: 'secret-token' });
    await client.close();
    expect((await get(nginx, `/api/v1/ws?token=${'secret-token'.repeat(1000)}`)).status).toBe(414);
    await eventually(() => {
      expect(nginx.accessLog()).toContain(' 414 ');
      expect(nginx.accessLog()).toContain('GET /api/v1/ws HTTP/1.1 101');
    });
    expect(nginx.accessLog() + nginx.log()).not.toContain('secret-token');
  });

  test('a reload drops nobody', async () => {
    const nginx = await Nginx.start({ home, gatewayPorts: [await startBackend('one')] });
    const client = await RecordingClient.open({ url: nginx.wsUrl });
    await client.waitFor('hello');
    nginx.reload();
    expect(await hello(nginx)).toBe('one');
    expect(client.isOpen).toBe(true);
  });
});

test('a value without a place in the template, or a place without a value, is an error', () => {
  expect(renderTemplate('a ${ONE} $two', { ONE: '1' })).toBe('a 1 $two');
  expect(() => renderTemplate('${ONE}', {})).toThrow('ONE');
  expect(() => renderTemplate('one', { TWO: '2' })).toThrow('TWO');
});

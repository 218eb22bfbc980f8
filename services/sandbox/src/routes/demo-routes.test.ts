import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../../test/start-sandbox.js';

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

let upstream: Server;
let asked: Asked[];
let sandbox: TestSandbox | undefined;

beforeEach(async () => {
  asked = [];
  upstream = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      asked.push({ method: request.method, url: request.url, authorization: request.headers.authorization, body });
      response.end(JSON.stringify({ replicas: [{ replica_id: 'r1' }] }));
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await sandbox?.stop();
  upstream.close();
});

const upstreamUrl = (): string => `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
const down = 'http://127.0.0.1:1';
const noRedis = { REDIS_URL: 'redis://127.0.0.1:1' };

test('without a fleet to show there is nothing to show, and no switches', async () => {
  sandbox = await startSandbox(noRedis);
  expect((await sandbox.ask('GET', '/demo/replicas')).status).toBe(404);
  expect((await sandbox.ask('GET', '/demo/control')).status).toBe(404);
  expect((await sandbox.ask('POST', '/demo/control', { action: 'kill' })).status).toBe(404);
  expect((await sandbox.ask('GET', '/demo/config')).body).toEqual({});
});

test('the fleet is asked of the first replica that answers', async () => {
  sandbox = await startSandbox({ ...noRedis, REPLICA_STATUS_URLS: `${down},${upstreamUrl()}`, INTERNAL_TOKEN: 'secret' });
  expect(await sandbox.ask('GET', '/demo/replicas')).toMatchObject({ status: 200, body: { replicas: [{ replica_id: 'r1' }] } });
  expect(asked).toEqual([{ method: 'GET', url: '/internal/replicas', authorization: 'Bearer secret', body: '' }]);
});

test('when none answers, that is said', async () => {
  sandbox = await startSandbox({ ...noRedis, REPLICA_STATUS_URLS: `${down},${down}` });
  expect(await sandbox.ask('GET', '/demo/replicas')).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
});

test('switches are handed on as they are', async () => {
  sandbox = await startSandbox({ ...noRedis, DEMO_CONTROL_URL: `${upstreamUrl()}/control`, GATEWAY_WS_URL: 'wss://edge/api/v1/ws' });
  expect((await sandbox.ask('GET', '/demo/control')).status).toBe(200);
  expect((await sandbox.ask('POST', '/demo/control', { action: 'kill', replica: 'r1' })).status).toBe(200);
  expect(asked.map(({ method, url, body }) => [method, url, body])).toEqual([
    ['GET', '/control', ''],
    ['POST', '/control', '{"action":"kill","replica":"r1"}'],
  ]);
  expect((await sandbox.ask('POST', '/demo/control', 'x'.repeat(5000))).status).toBe(413);
  expect((await sandbox.ask('GET', '/demo/config')).body).toEqual({ gateway_ws_url: 'wss://edge/api/v1/ws' });
});

test('the page, the client package and the keys are served', async () => {
  sandbox = await startSandbox(noRedis);
  const page = await sandbox.ask('GET', '/');
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('<!doctype html>') });
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
  for (const [, path] of page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)) expect((await sandbox.ask('GET', path ?? '')).status).toBe(200);
  const client = await fetch(`${sandbox.url}/client.js`);
  expect(client.headers.get('content-type')).toContain('text/javascript');
  expect(await client.text()).toContain('GatewayClient');
  expect((await sandbox.ask('GET', '/client/../package.json')).status).toBe(404);
  expect((await sandbox.ask('GET', '/.well-known/jwks.json')).body).toMatchObject({ keys: [{ alg: 'RS256' }] });
});

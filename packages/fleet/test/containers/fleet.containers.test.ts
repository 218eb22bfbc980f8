import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, RecordingClient } from '../../src/index.js';
import { type Container, DockerNetwork } from './docker.js';
import { buildImages } from './images.js';

let network: DockerNetwork;
let redis: Container;
let sandbox: Container;
let nginx: Container;
let gateways: Container[];

const owners = {
  JWKS_URL: 'http://sandbox:8090/.well-known/jwks.json',
  JWT_ISSUER: 'event-gateway-sandbox',
  JWT_AUDIENCE: 'event-gateway',
  USER_SERVICE_URL: 'http://sandbox:8090',
  MESSENGER_URL: 'http://sandbox:8090',
};

beforeAll(async () => {
  const images = await buildImages(process.env);
  network = await DockerNetwork.create();
  redis = await network.start({ name: 'redis', image: images.redis, command: ['redis-server', '--save', '', '--protected-mode', 'no'] });
  sandbox = await network.start({
    name: 'sandbox',
    image: images.sandbox,
    env: { REDIS_URL: 'redis://redis:6379', DATABASE_FILE: '/data/sandbox.db', SEED_DEMO: '1' },
    ports: [8090],
    args: ['--tmpfs', '/data:uid=10001,gid=10001'],
  });
  gateways = await Promise.all(
    ['gateway-1', 'gateway-2'].map((name) =>
      network.start({
        name,
        image: images.gateway,
        env: { REPLICA_ID: name, REDIS_URL: 'redis://redis:6379', ...owners, DRAIN_WINDOW_MS: '500' },
        ports: [9090],
      }),
    ),
  );
  await sandbox.untilAnswers(8090, '/.well-known/jwks.json');
  await Promise.all(gateways.map((gateway) => gateway.untilAnswers(9090, '/readyz')));
  nginx = await network.start({
    name: 'nginx',
    image: images.nginx,
    ports: [8443],
    args: [
      '-v',
      `${images.nginxConfiguration}:/etc/nginx:ro`,
      '--tmpfs',
      '/tmp:uid=10001,gid=10001',
      '--tmpfs',
      '/tmp/nginx/temp:uid=10001,gid=10001',
    ],
    command: ['nginx', '-p', '/tmp/nginx', '-c', '/etc/nginx/nginx.conf', '-e', 'stderr'],
  });
});

afterAll(async () => network.remove());

async function ask(path: string, body: unknown, token?: string): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${await sandbox.port(8090)}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

const login = async (userId: string): Promise<string> => String((await ask('/login', { user_id: userId }))['token']);

async function connect(userId: string): Promise<RecordingClient> {
  const url = `wss://127.0.0.1:${await nginx.port(8443)}/api/v1/ws`;
  const token = await login(userId);
  const client = await eventually(() => RecordingClient.open({ url, token }), { what: 'an open socket' });
  await client.waitFor('hello');
  return client;
}

async function post(text: string): Promise<void> {
  await ask('/api/conversations/team/messages', { text }, await login('alice'));
}

const arrives = (client: RecordingClient, text: string): Promise<unknown> =>
  client.waitFor((frame) => frame.type === 'message.new' && JSON.stringify(frame['message']).includes(text), 30_000);

const replicaOf = (client: RecordingClient): unknown => client.ofType('hello')[0]?.['replica_id'];

describe('the fleet as it is deployed: read-only images, nobody’s user, no capabilities', () => {
  test('a posted message arrives over wss at sockets on both replicas', async () => {
    const clients = [await connect('alice'), await connect('bob')];
    expect(new Set(clients.map(replicaOf))).toEqual(new Set(['gateway-1', 'gateway-2']));
    await post('in containers');
    await Promise.all(clients.map((client) => arrives(client, 'in containers')));
  });

  test('docker stop’s SIGTERM drains: clients are told to come back, exit code 0, and the other replica takes them', async () => {
    const client = await connect('carol');
    const [gateway] = gateways.filter(({ name }) => name === replicaOf(client));
    await gateway?.kill('SIGTERM');
    expect(await client.waitFor('reconnect')).toHaveProperty('after_ms');
    expect(await client.closed).toMatchObject({ code: 1012 });
    expect(await gateway?.exitCode()).toBe(0);
    const again = await connect('carol');
    expect(replicaOf(again)).not.toBe(gateway?.name);
    await gateway?.restart();
    await gateway?.untilAnswers(9090, '/readyz');
  });

  test('a frozen Redis costs nobody their socket, and what was posted meanwhile arrives when it is back', async () => {
    const client = await connect('bob');
    await redis.pause();
    await Promise.all(gateways.map((gateway) => gateway.untilAnswers(9090, '/readyz', '"degraded":["redis"]')));
    await post('while Redis was frozen');
    const late = await connect('alice'); // new sockets are taken all the same
    await redis.resume();
    await Promise.all([arrives(client, 'while Redis was frozen'), arrives(late, 'while Redis was frozen')]);
  });

  test('a pulled cable between a replica and Redis heals by itself', async () => {
    const client = await connect('carol');
    const [gateway] = gateways.filter(({ name }) => name === replicaOf(client));
    await redis.disconnect(network);
    await redis.connect(network);
    await post('after the cable was back');
    await arrives(client, 'after the cable was back');
    await gateway?.untilAnswers(9090, '/readyz');
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetHome, freePort, Replica } from '../../src/index.js';

let home: FleetHome;

beforeAll(() => {
  home = new FleetHome();
});

afterAll(async () => home.close());

const makeReplica = async (id: string): Promise<Replica> =>
  new Replica({ home, id, port: await freePort(), internalPort: await freePort(), env: {} });

describe('a replica', () => {
  test('that is started with several wrong variables names all of them and exits 78', async () => {
    const replica = await makeReplica('wrong');
    replica.launch({
      PORT: 'eighty',
      REDIS_URL: 'http://localhost',
      HEARTBEAT_MS: '-1',
      FANOUT: 'carrier-pigeon',
      EVENT_STREAM: 'one,two',
      READ_BATCH_ENTRIES: '0',
    });
    expect(await replica.exited).toEqual({ code: 78, signal: null });
    for (const name of ['PORT', 'REDIS_URL', 'HEARTBEAT_MS', 'FANOUT', 'EVENT_STREAM', 'READ_BATCH_ENTRIES'])
      expect(replica.log()).toContain(name);
    for (const missing of ['JWKS_URL', 'USER_SERVICE_URL', 'MESSENGER_URL']) expect(replica.log()).toContain(missing);
  });

  test('that nobody can have meant as it is says so and exits 78', async () => {
    const replica = await makeReplica('confused');
    const owner = 'http://127.0.0.1:1';
    replica.launch({
      ...{ JWKS_URL: owner, USER_SERVICE_URL: owner, MESSENGER_URL: owner },
      ...{ HOST: '127.0.0.1', PORT: '7070', INTERNAL_HOST: '127.0.0.1', INTERNAL_PORT: '7070' },
      ...{ REDIS_SENTINELS: 'a:26379', ALLOWED_ORIGINS: 'https://chat.example/' },
    });
    expect(await replica.exited).toEqual({ code: 78, signal: null });
    for (const name of ['INTERNAL_PORT', 'REDIS_SENTINEL_MASTER', 'ALLOWED_ORIGINS']) expect(replica.log()).toContain(`- ${name} `);
  });

  test('prints every variable with its meaning on request, secrets masked, and exits 0', async () => {
    const replica = await makeReplica('printer');
    const owner = 'http://127.0.0.1:1';
    replica.launch({ JWKS_URL: owner, USER_SERVICE_URL: owner, MESSENGER_URL: owner, OWNER_TOKEN: 'do-not-show' }, ['--print-config']);
    expect(await replica.exited).toEqual({ code: 0, signal: null });
    for (const name of ['REPLICA_ID', 'PRESENCE_LEASE_TTL_MS', 'OWNER_TOKEN', 'UNSAFE_SHARED_GROUP']) expect(replica.log()).toContain(name);
    expect(replica.log()).not.toContain('do-not-show');
  });

  test('prints a wrong configuration too, with all that is wrong, and exits 78', async () => {
    const replica = await makeReplica('wrong-printer');
    replica.launch({ HEARTBEAT_MS: 'often' }, ['--print-config']);
    expect(await replica.exited).toEqual({ code: 78, signal: null });
    expect(replica.log()).toMatch(/^HEARTBEAT_MS +often /m);
    for (const name of ['HEARTBEAT_MS', 'JWKS_URL', 'USER_SERVICE_URL', 'MESSENGER_URL']) expect(replica.log()).toContain(`- ${name} `);
  });

  test('without Redis and keys keeps trying: alive, not ready, and says why', async () => {
    const replica = await makeReplica('lonely');
    const nobody = `http://127.0.0.1:${await freePort()}`;
    replica.launch({
      JWKS_URL: nobody,
      USER_SERVICE_URL: nobody,
      MESSENGER_URL: nobody,
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    });
    await expect(replica.untilReady(4000)).rejects.toThrow('/readyz answers 503');
    expect((await replica.get('/healthz')).status).toBe(200);
    const { reasons } = JSON.parse((await replica.get('/readyz')).text) as { reasons: string[] };
    expect(reasons).toEqual(expect.arrayContaining(['jwks', 'redis']));
    await replica.kill();
  });
});

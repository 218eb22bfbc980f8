import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, type Fleet, freePort, RecordingClient, Replica, startFleet, UpgradeRefusedError } from '../../src/index.js';
import { upgradeRequest } from './upgrade-request.js';

const maxOpenFiles = 400;
/** What the replica takes of it: 95 % of what it does not need itself. */
const cap = 136;
const windowMs = 1500;

let fleet: Fleet;
let replica: Replica;
const clients: RecordingClient[] = [];
const strangers: Socket[] = [];

beforeAll(async () => {
  fleet = await startFleet({ replicas: 1, nginx: false });
  const ports = { port: await freePort(), internalPort: await freePort() };
  const env = { REDIS_URL: fleet.redis.url, ...fleet.owners.environment() };
  replica = new Replica({ home: fleet.home, id: 'small', ...ports, env, maxOpenFiles });
  await replica.start();
});

afterAll(async () => {
  for (const client of clients) client.terminate();
  for (const stranger of strangers) stranger.destroy();
  await fleet.stop();
});

const open = async (userId: string): Promise<RecordingClient> =>
  RecordingClient.open({ url: replica.wsUrl, token: await fleet.token(userId) });

/** From 0 to 1: how much of one core the replica takes, over some time from now on. */
async function cpuShare(): Promise<number> {
  const cpuMs = (): number => {
    const stat = readFileSync(`/proc/${replica.pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 10 * (Number(fields[11]) + Number(fields[12])); // utime and stime, in hundredths of a second
  };
  const [fromMs, fromCpuMs] = [performance.now(), cpuMs()];
  await sleep(windowMs);
  return (cpuMs() - fromCpuMs) / (performance.now() - fromMs);
}

// At the limit of file descriptors itself the transport accepts in vain, again and again, as fast as it can, and clients hang.
test('at the cap that its file descriptors allow a replica refuses with 503 and is as idle as before, and takes others when some leave', async () => {
  const idleShare = await cpuShare();
  for (let next = 0; next < cap; next++) clients.push(await open(`user-${next}`));
  expect((await replica.metrics()).value('gateway_connections')).toBe(cap);

  const refusals = await Promise.all(Array.from({ length: 20 }, (_, index) => open(`late-${index}`).catch((error: unknown) => error)));
  for (const refusal of refusals) {
    expect(refusal).toBeInstanceOf(UpgradeRefusedError);
    expect(refusal).toMatchObject({ status: 503, code: 'replica_full', headers: { 'retry-after': expect.stringMatching(/^[1-5]$/) } });
  }
  // Others never say anything, and hold a descriptor each until the transport cuts them.
  for (let n = 0; n < 20; n++) strangers.push(connect(replica.port, '127.0.0.1').on('error', () => undefined));
  expect(await cpuShare()).toBeLessThan(idleShare + 0.3);
  expect(clients.every((client) => client.isOpen)).toBe(true);
  await Promise.all(clients.map((client) => client.flush()));

  for (const client of clients.splice(0, 10)) await client.close();
  for (let n = 0; n < 10; n++) clients.push(await eventually(() => open(`next-${n}`)));
  await expect(open('too-late')).rejects.toMatchObject({ code: 'replica_full' });
  expect((await replica.metrics()).value('gateway_connections')).toBe(cap);
});

/** What a client that cannot come in may do, again and again. */
const knocks = {
  'say nothing': '',
  'are refused': upgradeRequest,
};

// Sockets that stood in line to be read took the last descriptors: the replica could not be asked how it was, and was taken for dead.
test.each(Object.entries(knocks))('however many knock and %s, a full replica keeps the descriptors that it needs', async (_what, bytes) => {
  const crowd: Socket[] = [];
  try {
    for (let n = 0; n < 3 * maxOpenFiles; n++) {
      crowd.push(
        connect(replica.port, '127.0.0.1', function written(this: Socket) {
          this.write(bytes);
        }).on('error', () => undefined),
      );
      if (n % 60 === 0) expect((await fetch(`${replica.internalUrl}/healthz`)).status).toBe(200);
    }
    expect((await replica.metrics()).value('process_open_fds')).toBeLessThan(maxOpenFiles);
    expect(clients.every((client) => client.isOpen)).toBe(true);
    await Promise.all(clients.map((client) => client.flush()));
  } finally {
    for (const socket of crowd) socket.destroy();
  }
  await expect(
    eventually(() =>
      open('too-late').catch((error: unknown) => {
        if (error instanceof UpgradeRefusedError) return error;
        throw error;
      }),
    ),
  ).resolves.toMatchObject({ code: 'replica_full' });
});

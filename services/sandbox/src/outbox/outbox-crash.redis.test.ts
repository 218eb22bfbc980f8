import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, FleetHome, type RedisServer, startRedisServer } from '@event-gateway/fleet';
import { type CommandConnection, createCommandConnection } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SandboxProcess } from '../../test/sandbox-process.js';
import { SilentProxy } from '../../test/silent-proxy.js';

let home: FleetHome;
let server: RedisServer;
let redis: CommandConnection;
let sandbox: SandboxProcess;

beforeEach(async () => {
  home = new FleetHome();
  server = await startRedisServer({ home });
  redis = createCommandConnection({ url: server.url, commandTimeoutMs: 2000 }, systemClock, silentLogger, 'test');
  redis.start();
  sandbox = await SandboxProcess.in(home, { REDIS_URL: server.url, DATABASE_FILE: join(home.dir, 'sandbox.db') });
  await sandbox.start();
  await eventually(async () => (await sandbox.unsent()) === 0);
  await eventually(() => redis.call('DEL', 'messenger.events'));
});

afterEach(async () => {
  redis.stop();
  await home.close();
});

interface Published {
  readonly event_id: string;
  readonly payload: { readonly id: string; readonly seq: number; readonly text: string };
}

/** The messages on the stream, in its order. */
async function published(): Promise<Published[]> {
  const entries = (await redis.call('XRANGE', 'messenger.events', '-', '+')) as [string, string[]][];
  return entries
    .map(([, fields]) => JSON.parse(fields[3] ?? '') as Published & { type: string })
    .filter(({ type }) => type === 'message.new');
}

test('a message whose sandbox was killed between the commit and the bus is published at the next start', async () => {
  await server.kill();
  const { status, body } = await sandbox.post('Committed');
  expect(status).toBe(201);
  expect(await sandbox.unsent()).toBe(1);
  await sandbox.process.kill();

  await server.restart({ keepData: false });
  await eventually(() => redis.isUp);
  expect(await published()).toEqual([]);
  await sandbox.start();
  const messages = await eventually(async () => {
    const found = await published();
    expect(found).not.toEqual([]);
    return found;
  });
  expect(messages).toMatchObject([{ payload: { id: body['id'], seq: body['seq'], text: 'Committed' } }]);
  await eventually(async () => (await sandbox.unsent()) === 0);
});

test('a message whose sandbox was killed between the bus and its mark is published again, as the same message and the same event', async () => {
  const proxy = new SilentProxy(server.port);
  await sandbox.process.stop();
  await sandbox.start({ REDIS_URL: await proxy.start() });
  await eventually(async () => expect(await sandbox.post('Warm')).toMatchObject({ status: 201 }));
  await eventually(async () => (await sandbox.unsent()) === 0);
  await redis.call('DEL', 'messenger.events');

  proxy.silence();
  const { body } = await sandbox.post('Published');
  await eventually(async () => (await published()).length === 1);
  expect(await sandbox.unsent()).toBe(1);
  await sandbox.process.kill();
  proxy.stop();

  await sandbox.start();
  await eventually(async () => (await published()).length === 2);
  const [first, second] = await published();
  expect(second).toEqual(first);
  expect(first?.payload.id).toBe(body['id']);
  await eventually(async () => (await sandbox.unsent()) === 0);
});

test('killed again and again while messages are posted, it loses none that was acknowledged, and no seq', async () => {
  const acknowledged: string[] = [];
  let isOver = false;
  const poster = (async () => {
    for (let n = 0; !isOver; n++) {
      // No answer: the message may or may not be there, and the sender would try again.
      const answer = await sandbox.post(`text ${n}`).catch(() => undefined);
      if (answer?.status === 201) acknowledged.push(String(answer.body['id']));
      if (answer === undefined) await sleep(5);
    }
  })();
  for (let kills = 0; kills < 3; kills++) {
    const before = acknowledged.length;
    await eventually(() => acknowledged.length >= before + 20 + kills * 7);
    await sandbox.process.kill();
    await sandbox.start();
  }
  isOver = true;
  await poster;
  await eventually(async () => (await sandbox.unsent()) === 0);

  const messages = await published();
  const ids = new Set(messages.map(({ payload }) => payload.id));
  expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  // What was published twice apart, they are in seq order and without a hole.
  const firsts = messages.filter(({ payload }, index) => messages.findIndex((other) => other.payload.id === payload.id) === index);
  const [
    {
      payload: { seq: firstSeq },
    } = { payload: { seq: 0 } },
  ] = firsts;
  expect(firsts.map(({ payload }) => payload.seq)).toEqual(firsts.map((_, index) => firstSeq + index));
  expect(new Set(firsts.map(({ event_id }) => event_id)).size).toBe(firsts.length);
});

test('SIGTERM finishes the batch under way, so that a planned restart publishes nothing twice', async () => {
  const posts = await Promise.all(Array.from({ length: 50 }, (_, n) => sandbox.post(`text ${n}`)));
  expect(await sandbox.process.stop()).toMatchObject({ code: 0 });
  await sandbox.start();
  await eventually(async () => (await sandbox.unsent()) === 0);
  const ids = (await published()).map(({ payload }) => payload.id);
  expect(ids.sort()).toEqual(posts.map(({ body }) => String(body['id'])).sort());
});

test('a second process on the same file is refused, and says by whom it is used', async () => {
  const second = await SandboxProcess.in(home, { REDIS_URL: server.url, DATABASE_FILE: join(home.dir, 'sandbox.db') });
  second.launch();
  expect(await second.process.exited).toMatchObject({ code: 1 });
  expect(second.process.output()).toContain(`in use by process ${sandbox.process.pid}`);
  expect((await sandbox.post('Still here')).status).toBe(201);
});

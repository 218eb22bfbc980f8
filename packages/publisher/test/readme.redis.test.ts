import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCommandConnection } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RedisServer, startRedisServer } from './redis-server.js';

let server: RedisServer;
let dir: string;

beforeAll(async () => {
  server = await startRedisServer();
  dir = await mkdtemp(join(tmpdir(), 'publisher-readme-'));
});

afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** What a module of exactly this text ends with: its connection and its publisher. */
async function run(example: string): Promise<{ redis: { stop(): void } }> {
  const file = join(dir, 'example.ts');
  await writeFile(file, `${example}\nexport { redis };\n`);
  return import(file);
}

test('the first example of the README publishes what it says, as it stands there', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const example = /```ts\n(.*?)```/s.exec(readme)?.[1] ?? '';
  expect(example).toContain('redis://localhost:6379');
  const { redis } = await run(example.replace('redis://localhost:6379', server.url).replace("'info'", "'silent'"));
  redis.stop();
  const reading = createCommandConnection({ url: server.url, commandTimeoutMs: 2000 }, systemClock, silentLogger, 'test');
  reading.start();
  await reading.whenUp();
  expect(await reading.call('XRANGE', 'messenger.events', '-', '+')).toMatchObject([
    [expect.any(String), ['recipients', '["alice","bob"]', 'envelope', expect.stringContaining('"text":"Hello"')]],
  ]);
  reading.stop();
});

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ContractServer } from './contract-server.js';

const run = promisify(execFile);
const here = fileURLToPath(new URL('..', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** 8 KB: a promise to every page that loads it. */
const MAX_GZIPPED_BYTES = 8 * 1024;

/** The package as it would be published, built from the sources as they stand. */
let folder: string;
let bundle: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'event-gateway-client-'));
  bundle = join(folder, 'dist/event-gateway-client.js');
  for (const file of ['package.json', 'README.md']) await cp(join(here, file), join(folder, file));
  const compile = ['-p', join(here, 'tsconfig.json'), '--outDir', join(folder, 'dist'), '--tsBuildInfoFile', join(folder, 'tsbuildinfo')];
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...compile]);
  await run(process.execPath, [join(here, 'bin/bundle.mjs'), bundle]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('the bundle for browsers is at most 8 KB gzipped', async () => {
  const bytes = gzipSync(await readFile(bundle), { level: 9 }).length;
  expect(bytes).toBeLessThanOrEqual(MAX_GZIPPED_BYTES);
});

test('it needs nothing else', async () => {
  const manifest = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
  expect(manifest.dependencies ?? {}).toEqual({});
  expect(await readFile(bundle, 'utf8')).not.toMatch(/\bimport\b\s*[({"'*]|\brequire\(/);
});

test('publint finds nothing', async () => {
  const { messages, pkg } = await publint({ pkgDir: folder, pack: false, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test('types and exports are right for everybody who imports ES modules', async () => {
  const attw = join(here, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  // It exits with an error when it finds a problem.
  const { stdout } = await run(process.execPath, [attw, '--pack', folder, '--profile', 'esm-only', '--no-color'], { cwd: folder });
  for (const entry of ['client"', 'client/message-store"', 'client/bundle"']) expect(stdout).toContain(`"@event-gateway/${entry}`);
});

test('the bundle runs, and a program that has closed its client ends by itself', async () => {
  const server = await new ContractServer().start();
  server.gateway.publish(server.gateway.newMessage('c1'));
  const program = `
    import { WebSocket } from ${JSON.stringify(new URL(import.meta.resolve('ws')).href)};
    import { CLOSE_CODES, GatewayClient } from ${JSON.stringify(bundle)};
    const client = new GatewayClient({ url: '${server.url}', token: () => 'u1.p.s', webSocket: WebSocket });
    client.on('message', ({ message }) => console.log(message.id, CLOSE_CODES[4409].reason));
    client.on('synced', () => client.close());
    client.connect();
  `;
  await writeFile(join(folder, 'program.mjs'), program);
  const { stdout } = await run(process.execPath, [join(folder, 'program.mjs')], { timeout: 20_000 });
  await server.kill();
  expect(stdout.trim()).toBe('c1.m1 replaced');
});

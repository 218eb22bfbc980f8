import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkLayers } from './check-layers.mjs';

const gateway = 'services/gateway/src';
const root = mkdtempSync(join(tmpdir(), 'layers-'));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

// One file for each room, so that there is something to import.
const tree = [
  ...['main', 'compose', 'config', 'fanout/fanout', 'inbound/inbound', 'handshake/upgrade', 'catchup/resume', 'frames/enrich'],
  ...['cards/card-cache', 'presence/presence', 'typing/typing', 'replica/registry', 'hub/hub', 'tail/recent-events'],
  ...['transport/socket', 'transport/uws-server', 'internal-api/health', 'lifecycle/drain'],
].map((path) => `${gateway}/${path}.ts`);
const packages = ['protocol', 'runtime', 'redis', 'publisher', 'client', 'fleet'];
const libraries = ['ioredis', 'uWebSockets.js', 'prom-client'];

/** Who may not import whom, and the rule that says so. `to` is a module of the tree or the name of a package. */
const planted: readonly { rule: string; from: string; to: string }[] = [
  { rule: 'process-is-imported-by-nobody', from: `${gateway}/hub/hub.ts`, to: `${gateway}/config.ts` },
  { rule: 'edge-transport', from: `${gateway}/transport/uws-server.ts`, to: `${gateway}/handshake/upgrade.ts` },
  { rule: 'edge-internal-api', from: `${gateway}/internal-api/health.ts`, to: `${gateway}/presence/presence.ts` },
  { rule: 'edge-lifecycle', from: `${gateway}/lifecycle/drain.ts`, to: `${gateway}/fanout/fanout.ts` },
  { rule: 'flow-fanout', from: `${gateway}/fanout/fanout.ts`, to: `${gateway}/catchup/resume.ts` },
  { rule: 'flow-inbound', from: `${gateway}/inbound/inbound.ts`, to: `${gateway}/fanout/fanout.ts` },
  { rule: 'flow-handshake', from: `${gateway}/handshake/upgrade.ts`, to: `${gateway}/lifecycle/drain.ts` },
  { rule: 'flow-catchup', from: `${gateway}/catchup/resume.ts`, to: `${gateway}/transport/uws-server.ts` },
  { rule: 'feature-frames', from: `${gateway}/frames/enrich.ts`, to: `${gateway}/cards/card-cache.ts` },
  { rule: 'feature-cards', from: `${gateway}/cards/card-cache.ts`, to: `${gateway}/fanout/fanout.ts` },
  { rule: 'feature-presence', from: `${gateway}/presence/presence.ts`, to: `${gateway}/typing/typing.ts` },
  { rule: 'feature-typing', from: `${gateway}/typing/typing.ts`, to: `${gateway}/tail/recent-events.ts` },
  { rule: 'feature-replica', from: `${gateway}/replica/registry.ts`, to: `${gateway}/presence/presence.ts` },
  { rule: 'low-hub', from: `${gateway}/hub/hub.ts`, to: `${gateway}/tail/recent-events.ts` },
  { rule: 'low-tail', from: `${gateway}/tail/recent-events.ts`, to: `${gateway}/frames/enrich.ts` },
  { rule: 'package-runtime', from: 'packages/runtime/src/index.ts', to: '@event-gateway/protocol' },
  { rule: 'package-redis', from: 'packages/redis/src/index.ts', to: '@event-gateway/protocol' },
  { rule: 'package-publisher', from: 'packages/publisher/src/index.ts', to: '@event-gateway/runtime' },
  { rule: 'package-protocol', from: 'packages/protocol/src/index.ts', to: '@event-gateway/runtime' },
  { rule: 'package-client', from: 'packages/client/src/index.ts', to: '@event-gateway/protocol' },
  { rule: 'package-fleet', from: 'packages/fleet/src/index.ts', to: '@event-gateway/runtime' },
  { rule: 'pure', from: 'packages/protocol/src/index.ts', to: 'node:fs' },
  { rule: 'pure', from: 'packages/client/src/index.ts', to: 'ioredis' },
  { rule: 'packages-never-services', from: 'packages/fleet/src/index.ts', to: `${gateway}/main.ts` },
  { rule: 'services-apart', from: 'services/sandbox/src/main.ts', to: `${gateway}/hub/hub.ts` },
  { rule: 'services-apart', from: 'bench/src/run.ts', to: `${gateway}/hub/hub.ts` },
  { rule: 'door-ioredis', from: `${gateway}/replica/registry.ts`, to: 'ioredis' },
  { rule: 'door-uwebsockets.js', from: `${gateway}/transport/socket.ts`, to: 'uWebSockets.js' },
  { rule: 'door-prom-client', from: `${gateway}/internal-api/health.ts`, to: 'prom-client' },
  { rule: 'no-tests-in-sources', from: `${gateway}/hub/hub.ts`, to: `${gateway}/hub/hub.test.ts` },
  { rule: 'no-circle', from: `${gateway}/tail/one.ts`, to: `${gateway}/tail/two.ts` },
  { rule: 'resolves', from: `${gateway}/hub/hub.ts`, to: `${gateway}/hub/nowhere.ts` },
];

function writeTree(imports: readonly { from: string; to: string }[]): void {
  const modules = [...tree, `${gateway}/hub/hub.test.ts`, `${gateway}/tail/one.ts`, `${gateway}/tail/two.ts`];
  const all = [...modules, ...packages.map((name) => `packages/${name}/src/index.ts`), 'services/sandbox/src/main.ts', 'bench/src/run.ts'];
  for (const from of all) {
    const lines = imports.filter((one) => one.from === from).map(({ to }) => `import type {} from '${specifier(from, to)}';`);
    write(from, `${lines.join('\n')}\nexport {};\n`);
  }
}

function specifier(from: string, to: string): string {
  if (!to.endsWith('.ts')) return to;
  return `${'../'.repeat(from.split('/').length - 1)}${to}`.replace(/[.]ts$/, '.js');
}

beforeAll(() => {
  cpSync(join(import.meta.dirname, 'tsconfig.base.json'), join(root, '.config/tsconfig.base.json'));
  cpSync(join(import.meta.dirname, 'tsconfig.test.json'), join(root, '.config/tsconfig.test.json'));
  write('package.json', JSON.stringify({ type: 'module', dependencies: Object.fromEntries(libraries.map((name) => [name, '1.0.0'])) }));
  for (const name of libraries) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js', types: 'index.d.ts' }));
    write(`node_modules/${name}/index.js`, '');
    write(`node_modules/${name}/index.d.ts`, 'export {};');
  }
});

afterAll(() => rmSync(root, { recursive: true }));

describe('the layers of the gateway', () => {
  test('arrows that the architecture draws are allowed', async () => {
    writeTree([
      { from: `${gateway}/compose.ts`, to: `${gateway}/transport/uws-server.ts` },
      { from: `${gateway}/fanout/fanout.ts`, to: `${gateway}/frames/enrich.ts` },
      { from: `${gateway}/fanout/fanout.ts`, to: `${gateway}/tail/recent-events.ts` },
      { from: `${gateway}/presence/presence.ts`, to: `${gateway}/hub/hub.ts` },
      { from: `${gateway}/hub/hub.ts`, to: `${gateway}/transport/socket.ts` },
      { from: `${gateway}/hub/hub.ts`, to: '@event-gateway/protocol' },
      { from: `${gateway}/transport/uws-server.ts`, to: 'uWebSockets.js' },
      { from: 'packages/redis/src/index.ts', to: 'ioredis' },
      { from: 'packages/redis/src/index.ts', to: '@event-gateway/runtime' },
    ]);
    const { violations, checked, files } = await checkLayers(root);
    expect(violations).toEqual([]);
    expect(checked).toBe(files);
  });

  test('every planted violation is caught by the rule that names it, although it imports a type only', async () => {
    writeTree([...planted, { from: `${gateway}/tail/two.ts`, to: `${gateway}/tail/one.ts` }]);
    const { violations } = await checkLayers(root);
    const caught = new Set(violations.map(({ rule, from }) => `${rule} ${from}`));
    expect(planted.filter(({ rule, from }) => !caught.has(`${rule} ${from}`))).toEqual([]);
  });
});

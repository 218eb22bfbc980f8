// Everything between a fresh clone and a running fleet: system packages, npm packages, the build. Plain Node, nothing to install
// before it. Each step is skipped when there is nothing to do, so the second run takes about a second.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const stampPath = join(root, 'node_modules/.cache/event-gateway/setup.json');

/** Command → the package that brings it. */
const systemCommands = {
  'redis-server': { debian: 'redis-server', brew: 'redis' },
  nginx: { debian: 'nginx-light', brew: 'nginx' },
  openssl: { debian: 'openssl', brew: 'openssl' },
};

const say = (text) => console.log(`setup: ${text}`);

function fail(sentence) {
  console.error(`setup: ${sentence}`);
  process.exit(1);
}

function run(command, args, env = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } });
  return result.status === 0;
}

/** Seconds that `step` took, for the line that says so. */
function timed(step) {
  const startedMs = performance.now();
  const ok = step();
  return { ok, seconds: ((performance.now() - startedMs) / 1000).toFixed(1) };
}

function isInstalled(command) {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin'];
  return places.some((place) => place !== '' && existsSync(join(place, command)));
}

/** How this user may become root: not at all (undefined), by being it, or by sudo (which may ask for a password on a terminal). */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  if (!isInstalled('sudo')) return undefined;
  const asksNothing = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
  return asksNothing || process.stdin.isTTY ? ['sudo'] : undefined;
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) fail(`Node ${process.versions.node} is too old: 20.19 or newer is needed.`);
}

function installSystemPackages() {
  const missing = Object.keys(systemCommands).filter((command) => !isInstalled(command));
  if (missing.length === 0) return;
  const names = (kind) => missing.map((command) => systemCommands[command][kind]).join(' ');
  const prefix = isInstalled('apt-get') ? rootPrefix() : undefined;
  if (prefix === undefined) {
    const byHand = `sudo apt-get install -y ${names('debian')} (Debian, Ubuntu) or brew install ${names('brew')} (macOS)`;
    const inContainers = 'node deploy/docker/prepare.mjs && docker compose -f deploy/compose.yaml up --build';
    fail(
      `${missing.join(', ')} missing; install with: ${byHand}.${isInstalled('docker') ? ` Or have the demo in containers: ${inContainers}` : ''}`,
    );
  }
  say(`installing ${names('debian')} with apt-get`);
  // RUNLEVEL=1: Debian would start what it installs as a service, and nobody asked for one on this machine.
  const apt = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1', 'apt-get', '-qq'];
  const [command, ...args] = apt;
  const { ok, seconds } = timed(() => {
    if (!run(command, [...args, 'update'])) say('apt-get update failed; trying with the package lists at hand');
    return run(command, [...args, 'install', '-y', '--no-install-recommends', ...names('debian').split(' ')]);
  });
  if (!ok) fail(`apt-get could not install ${names('debian')}; its own words are above.`);
  say(`system packages installed in ${seconds} s`);
}

/** One hash over what `step` depends on: contents for a few files, size and time for many. */
function fingerprint(paths, { byContent }) {
  const hash = createHash('sha256').update(process.version);
  for (const path of paths.sort()) {
    const full = join(root, path);
    const { size, mtimeMs } = statSync(full);
    hash.update(path).update(byContent ? readFileSync(full) : `${size}@${mtimeMs}`);
  }
  return hash.digest('hex');
}

const packageDirs = () =>
  ['packages', 'services'].flatMap((group) => readdirSync(join(root, group)).map((name) => `${group}/${name}`)).concat('bench');

const manifests = () =>
  ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', ...packageDirs().map((dir) => `${dir}/package.json`)].filter((path) =>
    existsSync(join(root, path)),
  );

function filesUnder(dir) {
  if (!existsSync(join(root, dir))) return [];
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const sources = () => [
  ...filesUnder('.config').filter((path) => path.includes('tsconfig')),
  ...packageDirs().flatMap((dir) => [...filesUnder(`${dir}/src`), ...filesUnder(`${dir}/bin`)]),
  ...packageDirs().map((dir) => `${dir}/tsconfig.json`),
];

function readStamp() {
  return existsSync(stampPath) ? JSON.parse(readFileSync(stampPath, 'utf8')) : {};
}

function writeStamp(change) {
  mkdirSync(dirname(stampPath), { recursive: true });
  writeFileSync(stampPath, JSON.stringify({ ...readStamp(), ...change }));
}

function installPackages() {
  const wanted = fingerprint(manifests(), { byContent: true });
  if (readStamp().packages === wanted) return;
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  say(`installing npm packages with ${packageManager}`);
  // CI=true: it must never stop to ask (about a node_modules that another tool made, for example).
  const { ok, seconds } = timed(() =>
    run('npx', ['-y', packageManager, 'install', '--frozen-lockfile', '--reporter=append-only'], { CI: 'true' }),
  );
  if (!ok) fail(`${packageManager} could not install the npm packages; its own words are above.`);
  writeStamp({ packages: wanted, build: undefined });
  say(`npm packages installed in ${seconds} s`);
}

function build() {
  const wanted = fingerprint(sources(), { byContent: false });
  const isBuilt = existsSync(join(root, 'services/gateway/dist/main.js')) && existsSync(join(root, 'packages/fleet/dist/index.js'));
  if (isBuilt && readStamp().build === wanted) return;
  say('building');
  const { ok, seconds } = timed(() => run(process.execPath, [join(root, 'packages/fleet/bin/build.mjs')]));
  if (!ok) fail('the build failed; the compiler says above where.');
  writeStamp({ build: wanted });
  say(`built in ${seconds} s`);
}

checkNode();
// Containers bring their own Redis and nginx: whoever only builds images needs neither here.
if (!process.argv.includes('--only-build')) installSystemPackages();
installPackages();
build();
say('ready');

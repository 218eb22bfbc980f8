// TypeScript → dist, then what the compiler leaves behind: everything in a src folder that isn't TypeScript (Lua scripts, the demo
// page) goes to the same place under dist, and the client gets its one-file bundle for browsers.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function runNode(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function copyAssets(packageDir) {
  const source = join(packageDir, 'src');
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /\.tsx?$/.test(entry.name)) continue;
    const from = join(entry.parentPath, entry.name);
    const to = join(packageDir, 'dist', from.slice(source.length + 1));
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
  }
}

runNode(join(root, 'node_modules/typescript/bin/tsc'), '-b', '.config/tsconfig.json');
for (const group of ['packages', 'services']) {
  for (const name of readdirSync(join(root, group))) {
    if (existsSync(join(root, group, name, 'src'))) copyAssets(join(root, group, name));
  }
}
const bundle = join(root, 'packages/client/bin/bundle.mjs');
if (existsSync(bundle)) runNode(bundle);

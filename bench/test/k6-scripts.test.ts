import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('the scripts for k6 fit the types of k6', () => {
  const compiler = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
  const project = fileURLToPath(new URL('../k6', import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});

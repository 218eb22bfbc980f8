import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StaticFiles } from './static-files.js';

let dir: string;
let files: StaticFiles;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'static-'));
  mkdirSync(join(dir, 'public', 'sub.js'), { recursive: true });
  writeFileSync(join(dir, 'public', 'page.html'), '<p>');
  writeFileSync(join(dir, 'public', 'notes.txt'), 'no');
  writeFileSync(join(dir, 'public', '.hidden.js'), 'no');
  writeFileSync(join(dir, 'public', 'sub.js', 'a.b-c_d.js'), '1');
  writeFileSync(join(dir, 'secret.js'), 'secret');
  files = new StaticFiles(pathToFileURL(`${dir}/public/`));
});

afterAll(() => rmSync(dir, { recursive: true }));

test('a file of the folder is served with its type', async () => {
  expect(await files.read('page.html')).toMatchObject({ content: { type: 'text/html; charset=utf-8' } });
  expect(await files.read('sub.js/a.b-c_d.js')).toMatchObject({ content: { type: 'text/javascript; charset=utf-8' } });
});

test.each([
  '../secret.js',
  'sub.js/../../secret.js',
  '%2e%2e/secret.js',
  '..%2fsecret.js',
  '/etc/passwd.js',
  'file:///etc/hosts.js',
  '//host/secret.js',
  'sub.js\\..\\..\\secret.js',
  '.hidden.js',
  'notes.txt',
  'sub.js',
  'missing.js',
  'page.html\0.js',
  '',
])('%j is not served', async (path) => {
  expect(await files.read(path)).toMatchObject({ code: 'not_found' });
});

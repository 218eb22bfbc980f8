import { dirname, join } from 'node:path';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { expect, test } from 'vitest';

const root = dirname(import.meta.dirname);
// Without types: a program of everything would take longer than all of these together, and these rules need none.
const eslint = new ESLint({
  cwd: root,
  overrideConfigFile: join(import.meta.dirname, 'eslint.config.js'),
  overrideConfig: [tseslint.configs.disableTypeChecked],
});

async function rulesBrokenBy(code: string, path: string): Promise<(string | null)[]> {
  const results = await eslint.lintText(`${code}\n`, { filePath: join(root, path) });
  return results.flatMap(({ messages }) => messages.map(({ ruleId }) => ruleId));
}

const source = 'services/gateway/src/hub/hub.ts';
const decoder = 'packages/protocol/src/envelope.ts';
const longFunction = `export function long(): void {\n${'  process.exit();\n'.repeat(61)}}`;

test.each([
  ['any', 'export const a: any = 1;', source, '@typescript-eslint/no-explicit-any'],
  [
    'a value that is said to be there',
    'export const f = (a?: string): number => a!.length;',
    source,
    '@typescript-eslint/no-non-null-assertion',
  ],
  ['the environment outside of config.ts', 'export const a = process.env;', source, 'no-restricted-properties'],
  ['an empty catch', 'export function f(): void { try { f(); } catch {} }', source, 'no-restricted-syntax'],
  ['a catch with a comment only', 'export function f(): void { try { f(); } catch { /* fine */ } }', source, 'no-restricted-syntax'],
  ['a named value of uWebSockets.js', "import { App } from 'uWebSockets.js';\nexport default App;", source, 'no-restricted-syntax'],
  ['an assertion by way of unknown', 'export const f = (a: string): number => a as unknown as number;', source, 'no-restricted-syntax'],
  ['a function of more than 60 lines', longFunction, source, 'max-lines-per-function'],
  ['a file of more than 500 lines', `export const a = 1;\n${'// a line\n'.repeat(500)}`, source, 'max-lines'],
  ['console in a service', 'export const f = (): void => console.log(1);', source, 'no-console'],
  ['a test that is skipped', "test.skip('a', () => undefined);", 'services/gateway/src/hub/hub.test.ts', 'no-restricted-properties'],
  ['a test that runs alone', "test.only('a', () => undefined);", 'services/gateway/src/hub/hub.test.ts', 'no-restricted-properties'],
])('%s is refused', async (_what, code, path, rule) => {
  expect(await rulesBrokenBy(code, path)).toEqual([rule]);
});

test.each([
  ['a type of uWebSockets.js', "import type { HttpRequest } from 'uWebSockets.js';\nexport type A = HttpRequest;", source],
  ['the environment in config.ts', 'export const a = process.env;', 'services/gateway/src/config.ts'],
  ['an assertion by way of unknown in a decoder', 'export const f = (a: string): number => a as unknown as number;', decoder],
  ['a long test', longFunction, 'services/gateway/src/hub/hub.test.ts'],
])('%s is allowed', async (_what, code, path) => {
  expect(await rulesBrokenBy(code, path)).toEqual([]);
});

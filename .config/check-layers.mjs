// Runs dependency-cruiser and, before believing it, counts: next to a TypeScript version that it does not support it looks at no
// TypeScript file at all and reports success.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';

const tsConfig = '.config/tsconfig.test.json';
const folders = ['packages', 'services', 'bench'];
const isSource = (path) => /[.]ts$/.test(path) && !/(^|\/)(node_modules|dist)\//.test(path);

/**
 * @param {string} root the repository, or a copy of its shape
 * @returns {Promise<{ violations: { rule: string, from: string, to: string }[], checked: number, files: number }>}
 */
export async function checkLayers(root) {
  const { forbidden, options } = createRequire(import.meta.url)('./dependency-cruiser.cjs');
  // To the sources, not through node_modules to what was built: a built module would be outside of every rule.
  const alias = Object.fromEntries(
    readdirSync(join(root, 'packages')).map((name) => [`@event-gateway/${name}$`, join(root, 'packages', name, 'src/index.ts')]),
  );
  const { output } = await cruise(
    folders,
    { ...options, ruleSet: { forbidden, options }, validate: true, baseDir: root },
    { alias },
    { tsConfig: extractTSConfig(join(root, tsConfig)) },
  );
  const files = folders.flatMap((folder) => sourcesUnder(root, folder));
  const seen = new Set(output.modules.map(({ source }) => source));
  const violations = output.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to }));
  const unseen = files.filter((file) => !seen.has(file)).map((file) => ({ rule: 'unseen', from: file, to: file }));
  return { violations: [...violations, ...unseen], checked: files.length - unseen.length, files: files.length };
}

function sourcesUnder(root, folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((path) => `${folder}/${path}`)
    .filter(isSource);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { violations, checked, files } = await checkLayers(dirname(import.meta.dirname));
  for (const { rule, from, to } of violations) console.error(`${rule}: ${from} → ${to}`);
  console.log(`layers: ${checked} of ${files} files checked, ${violations.length} violations`);
  process.exitCode = violations.length > 0 || files === 0 ? 1 : 0;
}

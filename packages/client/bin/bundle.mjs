// Writes dist/event-gateway-client.js (or the file that is named): the whole client as one minified ES module, for a page without a
// build step.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

await build({
  absWorkingDir: root,
  entryPoints: ['src/index.ts'],
  outfile: process.argv[2] ?? 'dist/event-gateway-client.js',
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  legalComments: 'none',
});

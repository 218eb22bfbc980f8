import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

export default defineConfig({
  root,
  resolve: {
    // Tests run on the sources as they stand; only processes that a test starts run what was built.
    alias: [{ find: /^@event-gateway\/(protocol|runtime|redis|publisher|client|fleet)$/, replacement: `${root}packages/$1/src/index.ts` }],
  },
  test: {
    include: [
      '{packages,services}/*/{src,test}/**/*.test.ts',
      'bench/{src,test}/**/*.test.ts',
      'packages/fleet/test/**/*.test.ts',
      '.config/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/dist/**', '**/*.containers.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // Real processes on a shared machine: a test whose bound was missed because of the machine gets another go where nobody can repeat it.
    retry: process.env['CI'] === 'true' ? 2 : 0,
  },
});

import { defineConfig } from 'vitest/config';
import base from './vitest.config.js';

// The suite that needs a Docker daemon. One file at a time: they share the daemon, and two cores.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['packages/fleet/test/**/*.containers.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 120_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});

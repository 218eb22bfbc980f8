import { expect, test } from 'vitest';
import { inRepository } from '../../src/repository.js';
import { docker } from './docker.js';
import { buildBase } from './images.js';

// A machine that has Node and nothing else, and a user who is not root.
test('who may not install what is missing is told, in one sentence, what it is and what installs it', async () => {
  const image = await buildBase('NODE_IMAGE', process.env);
  const repository = inRepository('');
  const asUser = ['--rm', '--user', '10001:10001', '--network', 'none', '-v', `${repository}:/project:ro`];
  const said = await docker('run', ...asUser, image, 'node', '/project/packages/fleet/bin/setup.mjs').then(
    () => 'it went through',
    (error: unknown) => (error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)),
  );
  expect(said).toBe(
    'setup: redis-server, nginx, openssl missing; install with: sudo apt-get install -y redis-server nginx-light openssl (Debian, Ubuntu) or brew install redis nginx openssl (macOS).',
  );
});

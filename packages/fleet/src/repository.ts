import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Two folders above this package, whether this file runs from src/ or from dist/.
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The path of something in the repository, e.g. `services/gateway/dist/main.js`. */
export function inRepository(path: string): string {
  return join(root, path);
}

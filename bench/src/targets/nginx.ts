import { spawnSync } from 'node:child_process';

/** Whether there is an `nginx` on the PATH. */
export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).status === 0;
}

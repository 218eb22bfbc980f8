import { spawnSync } from 'node:child_process';

export const isThere = (command) => spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0;

/** True when the command is there, or is after apt-get has installed its package (which only root may do, and only where apt-get is). */
export function ensureCommand(command, packageName) {
  if (isThere(command)) return true;
  if (process.getuid?.() !== 0 || !isThere('apt-get')) return false;
  // RUNLEVEL=1: Debian would start what it installs as a service.
  const options = { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' } };
  spawnSync('apt-get', ['-qq', 'update'], options);
  return spawnSync('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', packageName], options).status === 0;
}

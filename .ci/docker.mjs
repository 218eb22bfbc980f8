import { spawn, spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const answers = () => spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status === 0;
const isThere = (command) => spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0;
const skip = (why) => ({ isUp: false, why, stop() {} });

/**
 * A Docker daemon: the one that answers, or one started here, which `stop` ends. Never a second one beside another: it would take
 * the first one's bridge down.
 * @returns {Promise<{ isUp: boolean, why?: string, stop(): void }>}
 */
export async function ensureDocker() {
  if (answers()) return { isUp: true, stop() {} };
  if (process.getuid?.() !== 0) return skip('no Docker daemon answers, and only root may start one');
  if (spawnSync('pidof', ['dockerd'], { stdio: 'ignore' }).status === 0) return skip('a dockerd runs but does not answer');
  if (!isThere('dockerd') && !installDocker()) return skip('no dockerd here, and apt-get could not install docker.io');
  const log = join(tmpdir(), `event-gateway-dockerd-${process.pid}.log`);
  const file = openSync(log, 'a');
  const daemon = spawn('dockerd', [], { stdio: ['ignore', file, file] });
  for (let tries = 0; tries < 60 && daemon.exitCode === null; tries++) {
    if (answers()) return { isUp: true, stop: () => daemon.kill('SIGTERM') };
    await sleep(500);
  }
  daemon.kill('SIGTERM');
  return skip(`dockerd did not come up; its words are in ${log}`);
}

function installDocker() {
  if (!isThere('apt-get')) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  spawnSync('apt-get', ['-qq', 'update'], { stdio: 'inherit', env });
  return spawnSync('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', 'docker.io'], { stdio: 'inherit', env }).status === 0;
}

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureCommand } from './apt.mjs';

const answers = () => spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status === 0;
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
  if (!ensureCommand('dockerd', 'docker.io')) return skip('there is no dockerd, and apt-get could not install docker.io');
  const folder = mkdtempSync(join(tmpdir(), 'event-gateway-dockerd-'));
  const log = openSync(join(folder, 'log'), 'a');
  const daemon = spawn('dockerd', [], { stdio: ['ignore', log, log] });
  closeSync(log);
  for (let tries = 0; tries < 60 && daemon.exitCode === null; tries++) {
    if (answers()) return { isUp: true, stop: () => daemon.kill('SIGTERM') && rmSync(folder, { recursive: true }) };
    await sleep(500);
  }
  daemon.kill('SIGTERM');
  return skip(`dockerd did not come up; its words are in ${folder}/log`);
}

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.js';
import { isAlive } from './is-alive.js';

const homeModule = fileURLToPath(new URL('./fleet-home.ts', import.meta.url));

/** A starter of its own that opens a home, starts `sleep` in it, whose own child ignores SIGTERM, and says where and who. */
async function startStarter(): Promise<{ kill: (signal: NodeJS.Signals) => void; dir: string; pids: number[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'starter-'));
  const script = join(folder, 'starter.mts');
  writeFileSync(
    script,
    `import { FleetHome } from ${JSON.stringify(homeModule)};
     const home = new FleetHome();
     const one = home.spawn({ name: 'one', command: 'sh', args: ['-c', 'trap "" TERM; sleep 600 & echo child $!; wait'], env: {} });
     const wait = setInterval(() => {
       const child = /child (\\d+)/.exec(one.output())?.[1];
       if (child === undefined) return;
       clearInterval(wait);
       console.log(JSON.stringify({ dir: home.dir, pids: [one.pid, Number(child)] }));
     }, 10);`,
  );
  const starter = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const line = await new Promise<string>((resolve) => starter.stdout.once('data', (data: Buffer) => resolve(data.toString())));
  rmSync(folder, { recursive: true });
  const { dir, pids } = JSON.parse(line) as { dir: string; pids: number[] };
  return { dir, pids, kill: (signal) => process.kill(-(starter.pid ?? 0), signal) };
}

test.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)('a starter that dies of %s leaves no process and no folder', async (signal) => {
  const { dir, pids, kill } = await startStarter();
  expect(pids.map(isAlive)).toEqual([true, true]);
  expect(existsSync(dir)).toBe(true);
  kill(signal);
  await eventually(() => expect({ alive: pids.filter(isAlive), folder: existsSync(dir) }).toEqual({ alive: [], folder: false }));
});

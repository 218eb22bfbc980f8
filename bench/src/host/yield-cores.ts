import { existsSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { eventually } from '@event-gateway/fleet';

const lowestPriority = 19;

/**
 * From here on a process gets what of the cores nobody else wants. It has to lead a session of its own (`detached`): where the kernel
 * groups processes by session (`sched_autogroup`), a priority counts inside its session alone, and among sessions the session's own.
 */
export async function yieldCores(pid: number): Promise<void> {
  setPriority(pid, lowestPriority);
  const ofSession = `/proc/${pid}/autogroup`;
  // The kernel takes ten of these a second from a user, and refuses the rest.
  if (existsSync(ofSession)) await eventually(() => writeFileSync(ofSession, String(lowestPriority)), { timeoutMs: 5000 });
}

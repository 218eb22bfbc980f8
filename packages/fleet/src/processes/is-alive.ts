import { existsSync, readFileSync } from 'node:fs';

/** Whether a process still runs. A zombie doesn't, however long whoever adopted it takes to notice. */
export function isAlive(pid: number): boolean {
  if (existsSync('/proc/self/stat')) return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

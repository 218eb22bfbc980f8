import { readFileSync } from 'node:fs';

/** Whether a SIGSTOP has taken effect. */
export function isStopped(pid: number): boolean {
  return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

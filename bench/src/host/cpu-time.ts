import { readFileSync } from 'node:fs';

/** /proc counts in hundredths of a second on every Linux that Node runs on. */
const tickUs = 10_000;

/**
 * CPU time (user and system, all threads) that a process has taken since its start, in microseconds, to 10 ms: a measured span
 * should take most of a second. @throws when the process is gone
 */
export function cpuTimeUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the program's name in parentheses and may hold anything; utime and stime are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
}

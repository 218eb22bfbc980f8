import { readFileSync, rmSync, writeFileSync } from 'node:fs';

export class DatabaseInUseError extends Error {
  readonly code = 'DATABASE_IN_USE';
}

/**
 * Takes the database file for this process and returns what gives it back.
 *
 * The embedded SQLite locks by making the folder `<file>.lock`, which nobody removes after kill -9: the next start would find the
 * database locked for ever. So ownership is ours: `<file>.pid` names the owner, and when that process is gone its lock is too.
 */
export function takeDatabaseFile(path: string): () => void {
  const pidPath = `${path}.pid`;
  const owner = readOwner(pidPath);
  if (owner !== undefined && owner !== process.pid && isAlive(owner)) {
    throw new DatabaseInUseError(`${path} is in use by process ${owner}; if that is another program, remove ${pidPath}`);
  }
  rmSync(pidPath, { force: true });
  // `wx`: of two that start at the same moment one fails here rather than both writing.
  writeFileSync(pidPath, String(process.pid), { flag: 'wx' });
  rmSync(`${path}.lock`, { recursive: true, force: true });
  return () => rmSync(pidPath, { force: true });
}

function readOwner(pidPath: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidPath, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

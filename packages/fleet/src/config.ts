// What the fleet takes from the environment of whoever starts it. Processes of the fleet get only what is named for them.

/** Debian keeps nginx and redis-server's friends in sbin, Homebrew has its own place; a user's PATH may lack both. */
const morePaths = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', '/opt/homebrew/sbin'];

export interface HostEnvironment {
  readonly path: string;
  readonly home: string;
  /** Set: temporary folders with every process's log stay after the fleet has stopped. */
  readonly keepsFiles: boolean;
}

export function hostEnvironment(): HostEnvironment {
  return {
    path: [process.env['PATH'] ?? '', ...morePaths].filter((part) => part !== '').join(':'),
    home: process.env['HOME'] ?? '/',
    keepsFiles: (process.env['FLEET_KEEP_FILES'] ?? '') !== '',
  };
}

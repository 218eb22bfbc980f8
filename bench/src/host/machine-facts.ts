import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { centrifugoVersion } from '../targets/centrifugo.js';

/** What someone must know to judge the figures; no name and no path of the machine. */
export interface MachineFacts {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGb: number;
  readonly kernel: string;
  /** Name → version. */
  readonly versions: Readonly<Record<string, string>>;
  /** Processes that wanted to run in the minute before: more than a few, and others were at work. */
  readonly loadBefore: number;
}

export function machineFacts(): MachineFacts {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    versions: versions(),
    loadBefore: loadavg()[0] ?? Number.NaN,
  };
}

function versions(): Record<string, string> {
  const redis = /v=(\S+)/.exec(spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout)?.[1];
  const packages = ['socket.io', '@socket.io/redis-streams-adapter', 'ioredis', 'ws', 'uWebSockets.js'];
  return {
    Node: process.versions.node,
    Redis: redis ?? 'unknown',
    ...Object.fromEntries(packages.map((name) => [name, packageVersion(name)])),
    Centrifugo: centrifugoVersion() ?? 'not on the PATH',
  };
}

function packageVersion(name: string): string {
  const text = readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8');
  return /"version":\s*"([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}

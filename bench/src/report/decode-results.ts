import { existsSync, readFileSync } from 'node:fs';
import type { RunResult } from './result.js';

/** What an earlier run has left in this file, which is believed; undefined when there is none. */
export function decodeResults(path: string): RunResult | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as RunResult) : undefined;
}

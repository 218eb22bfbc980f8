import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetProcess } from './fleet-process.js';

/**
 * Asks until `check` answers `true`. Its other answers (what is still missing) and the last lines of the log make the error of a
 * process that ended or was not ready in time.
 */
export async function waitUntilReady(process: FleetProcess, check: () => Promise<true | string>, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let missing = 'no answer yet';
  for (;;) {
    if (!process.isRunning) throw new Error(`${process.name} ended before it was ready (${describeExit(process)})\n${process.lastLines()}`);
    const answer = await check();
    if (answer === true) return;
    missing = answer;
    if (performance.now() >= deadline) {
      throw new Error(`${process.name} was not ready within ${timeoutMs} ms: ${missing}\n${process.lastLines()}`);
    }
    await sleep(20);
  }
}

function describeExit(process: FleetProcess): string {
  const { exit } = process;
  if (exit?.error !== undefined) return exit.error;
  return exit?.signal != null ? `by ${exit.signal}` : `code ${exit?.code}`;
}

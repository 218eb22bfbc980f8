import { inspect } from 'node:util';
import { ConfigError } from './environment.js';
import type { Logger } from './logger.js';
import { listenForStopSignals } from './signals.js';
import type { Supervisor } from './supervisor.js';

export interface ProcessOptions<C> {
  /** @throws ConfigError that lists every problem */
  readonly parseConfig: () => C;
  readonly printConfig: () => string;
  /** What the process is made of; nothing is started yet. */
  readonly compose: (config: C) => ComposedProcess;
  readonly drainDeadlineMs: number;
}

export interface ComposedProcess {
  readonly supervisor: Supervisor;
  readonly logger: Logger;
  /** Called when it is up. */
  readonly onUp: () => void;
}

const exitCodes = { stopped: 0, crashed: 1, badConfig: 78 };

/**
 * The life of a process: up, until the first SIGTERM or SIGINT; drained, until the deadline or a second one; stopped, with 0. A wrong
 * environment ends it with 78 and everything that is wrong, a fault with 1. `--print-config` only prints what it would run with.
 */
export async function runProcess<C>(options: ProcessOptions<C>): Promise<never> {
  try {
    if (process.argv.includes('--print-config')) process.stdout.write(`${options.printConfig()}\n`);
    else await runUntilSignal(options);
    process.exit(exitCodes.stopped);
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : inspect(error)}\n`);
    process.exit(error instanceof ConfigError ? exitCodes.badConfig : exitCodes.crashed);
  }
}

async function runUntilSignal<C>({ parseConfig, compose, drainDeadlineMs }: ProcessOptions<C>): Promise<void> {
  const config = parseConfig();
  const signals = listenForStopSignals();
  const { supervisor, logger, onUp } = compose(config);
  await supervisor.start();
  onUp();
  const signal = await signals.first;
  logger.info({ signal }, 'draining');
  await Promise.race([supervisor.drain(drainDeadlineMs), signals.second]);
  await supervisor.stop();
}

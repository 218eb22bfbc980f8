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
  readonly compose: (config: C) => ComposedProcess | Promise<ComposedProcess>;
}

export interface ComposedProcess {
  readonly supervisor: Supervisor;
  readonly logger: Logger;
  /** By then it has ended, whatever hangs. */
  readonly drainDeadlineMs: number;
  /** Called when it is up. */
  readonly onUp: () => void;
  /** Aborts when another process has taken this one's place: it ends at once and lets go of nothing. */
  readonly fencedOut?: AbortSignal;
}

const exitCodes = { drained: 0, crashed: 1, badConfig: 78 };
/** What of a drain's time is kept for letting go of connections, whatever hangs. */
const stopShare = 0.08;

/**
 * The life of a process: up, until the first SIGTERM or SIGINT; drained and stopped, within its deadline; ended, with 0. A second signal
 * ends it at once, with 1, as do a fault and a process that has taken its place. A wrong environment ends it with 78 and everything that is
 * wrong. `--print-config` only prints what it would run with, a wrong environment included.
 */
export async function runProcess<C>({ parseConfig, printConfig, compose }: ProcessOptions<C>): Promise<never> {
  try {
    const isPrinting = process.argv.includes('--print-config');
    if (isPrinting) process.stdout.write(`${printConfig()}\n`);
    const config = parseConfig();
    if (!isPrinting) await runUntilSignal(() => compose(config));
    process.exit(exitCodes.drained);
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : inspect(error)}\n`);
    process.exit(error instanceof ConfigError ? exitCodes.badConfig : exitCodes.crashed);
  }
}

async function runUntilSignal(compose: () => ComposedProcess | Promise<ComposedProcess>): Promise<void> {
  const signals = listenForStopSignals();
  const { supervisor, logger, drainDeadlineMs, onUp, fencedOut } = await compose();
  const crash = (error: unknown): never => {
    logger.error({ error }, 'crashed');
    process.exit(exitCodes.crashed);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  void signals.second.then(() => process.exit(exitCodes.crashed));
  fencedOut?.addEventListener('abort', () => process.exit(exitCodes.crashed));
  await supervisor.start().catch(crash);
  onUp();
  const signal = await signals.first;
  logger.info({ signal }, 'draining');
  const stopMs = stopShare * drainDeadlineMs;
  await supervisor.drain(drainDeadlineMs - stopMs);
  await supervisor.stop(stopMs);
  logger.info({}, 'drained');
}

import { ConfigError, createLogger, listenForStopSignals, systemClock } from '@event-gateway/runtime';
import { composeWorker } from './compose.js';
import { parseConfig, printConfig } from './config.js';

/** Longer than a blocked read and a batch whose webhook times out. */
const drainDeadlineMs = 20_000;
const exitCodes = { stopped: 0, badConfig: 78 };

async function main(): Promise<number> {
  if (process.argv.includes('--print-config')) {
    console.log(printConfig());
    return exitCodes.stopped;
  }
  const config = parseConfig();
  const logger = createLogger({ level: config.LOG_LEVEL, fields: { service: 'notification-worker', worker: config.WORKER_ID } });
  const signals = listenForStopSignals();
  const { supervisor, status } = composeWorker(config, systemClock, logger);
  await supervisor.start();
  logger.info({ port: status.port, stream: config.EVENT_STREAM, group: config.GROUP }, 'worker is up');

  const signal = await signals.first;
  logger.info({ signal }, 'finishing the batch');
  await Promise.race([supervisor.drain(drainDeadlineMs), signals.second]);
  await supervisor.stop();
  return exitCodes.stopped;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof ConfigError ? error.message : error);
    process.exit(error instanceof ConfigError ? exitCodes.badConfig : 1);
  },
);

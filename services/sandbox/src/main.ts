import { ConfigError, createLogger, listenForStopSignals, systemClock } from '@event-gateway/runtime';
import { composeSandbox } from './compose.js';
import { parseConfig, printConfig } from './config.js';

const drainDeadlineMs = 5000;
const exitCodes = { stopped: 0, badConfig: 78 };

async function main(): Promise<number> {
  if (process.argv.includes('--print-config')) {
    console.log(printConfig());
    return exitCodes.stopped;
  }
  const config = parseConfig();
  const logger = createLogger({ level: config.LOG_LEVEL, fields: { service: 'sandbox' } });
  const signals = listenForStopSignals();
  const { supervisor, http } = composeSandbox(config, systemClock, logger);
  await supervisor.start();
  logger.info({ port: http.port, database: config.DATABASE_FILE, stream: config.EVENT_STREAM }, 'sandbox is up');

  const signal = await signals.first;
  logger.info({ signal }, 'stopping');
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

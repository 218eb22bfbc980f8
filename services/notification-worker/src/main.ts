import { createLogger, runProcess, systemClock } from '@event-gateway/runtime';
import { composeWorker } from './compose.js';
import { parseConfig, printConfig } from './config.js';

/** Longer than a blocked read and a batch whose webhook times out. */
const drainDeadlineMs = 22_000;

await runProcess({
  parseConfig,
  printConfig,
  compose: (config) => {
    const logger = createLogger({ level: config.LOG_LEVEL, fields: { service: 'notification-worker', worker: config.WORKER_ID } });
    const { supervisor, status } = composeWorker(config, systemClock, logger);
    const onUp = (): void => logger.info({ port: status.port, stream: config.EVENT_STREAM, group: config.GROUP }, 'worker is up');
    return { supervisor, logger, drainDeadlineMs, onUp };
  },
});

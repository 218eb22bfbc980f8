import { createLogger, runProcess, systemClock } from '@event-gateway/runtime';
import { composeWorker } from './compose.js';
import { parseConfig, printConfig } from './config.js';

await runProcess({
  parseConfig,
  printConfig,
  compose: (config) => {
    const logger = createLogger({ level: config.LOG_LEVEL, fields: { service: 'notification-worker', worker: config.WORKER_ID } });
    const { supervisor, status } = composeWorker(config, systemClock, logger);
    const onUp = (): void => logger.info({ port: status.port, stream: config.EVENT_STREAM, group: config.GROUP }, 'worker is up');
    return { supervisor, logger, onUp };
  },
  // Longer than a blocked read and a batch whose webhook times out.
  drainDeadlineMs: 20_000,
});

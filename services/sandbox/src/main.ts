import { createLogger, runProcess, systemClock } from '@event-gateway/runtime';
import { composeSandbox } from './compose.js';
import { parseConfig, printConfig } from './config.js';

await runProcess({
  parseConfig,
  printConfig,
  compose: (config) => {
    const logger = createLogger({ level: config.LOG_LEVEL, fields: { service: 'sandbox' } });
    const { supervisor, http } = composeSandbox(config, systemClock, logger);
    const facts = { database: config.DATABASE_FILE, stream: config.EVENT_STREAM };
    return { supervisor, logger, drainDeadlineMs: 5000, onUp: () => logger.info({ port: http.port, ...facts }, 'sandbox is up') };
  },
});

import { runProcess } from '@event-gateway/runtime';
import { describeConfig, raiseHeaderLimit, readConfig } from './config.js';

await runProcess({
  parseConfig: readConfig,
  printConfig: describeConfig,
  compose: async (config) => {
    raiseHeaderLimit();
    // Loaded only now: the transport's native part reads its limits when it is loaded, and may not exist for this platform.
    const { compose } = await import('./compose.js').catch((error: unknown) => {
      const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      process.stderr.write(`The gateway cannot run here: ${reason}\n`);
      process.exit(1);
    });
    return compose(config);
  },
});

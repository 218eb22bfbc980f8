import { ConfigError, listenForStopSignals } from '@event-gateway/runtime';
import { describeConfig, type GatewayConfig, raiseHeaderLimit, readConfig } from './config.js';

/** sysexits.h: something in the configuration is wrong. */
const badConfiguration = 78;

function parseOrExit(): GatewayConfig {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(badConfiguration);
  }
}

if (process.argv.includes('--print-config')) {
  process.stdout.write(`${describeConfig()}\n`);
  parseOrExit();
  process.exit(0);
}

const config = parseOrExit();
raiseHeaderLimit();
// Loaded only now: the transport's native part reads its limits when it is loaded, and may not exist for this platform.
const { compose } = await import('./compose.js').catch((error: unknown) => {
  process.stderr.write(`The gateway cannot run here: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}\n`);
  process.exit(1);
});
const gateway = compose(config);
const signals = listenForStopSignals();
process.on('uncaughtException', (error) => gateway.crash(error));
process.on('unhandledRejection', (error) => gateway.crash(error));
void gateway.fenced.then(() => process.exit(1));
void signals.second.then(() => process.exit(1));

await gateway.start();
const signal = await signals.first;
await gateway.drain(signal);
process.exit(0);

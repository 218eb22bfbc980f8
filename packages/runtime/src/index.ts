export { Backoff, type BackoffOptions } from './backoff.js';
export { type Clock, every, systemClock, type Timer } from './clock.js';
export {
  ConfigError,
  flag,
  int,
  list,
  oneOf,
  optionalInt,
  optionalString,
  parseEnvironment,
  printEnvironment,
  type Spec,
  string,
  token,
  url,
  type Values,
  type Variable,
} from './environment.js';
export { FakeClock } from './fake-clock.js';
export { createLogger, describeError, type Logger, type LoggerOptions, type LogLevel, silentLogger } from './logger.js';
export { type LoopOptions, runLoop } from './loop.js';
export { type Counter, type Gauge, type Histogram, type Labels, Metrics, type SeriesOptions } from './metrics.js';
export { RateLimitedLog } from './rate-limited-log.js';
export { type ComposedProcess, type ProcessOptions, runProcess } from './run-process.js';
export { type Component, Supervisor } from './supervisor.js';
export { TokenBucket } from './token-bucket.js';
export { within } from './within.js';

import { enrichment } from './enrichment.js';
import { fanout } from './fanout.js';
import { growth } from './growth.js';
import { idle } from './idle.js';
import { lag } from './lag.js';
import { latency } from './latency.js';
import { presence } from './presence.js';
import { ramp } from './ramp.js';
import { reconnect } from './reconnect.js';
import { replicas } from './replicas.js';
import { skip } from './skip.js';
import type { Scenario } from './scenario.js';
import { storm } from './storm.js';

/** In the order in which they run. */
export const scenarios: readonly Scenario[] = [
  skip,
  fanout,
  growth,
  latency,
  ramp,
  idle,
  reconnect,
  storm,
  presence,
  replicas,
  enrichment,
  lag,
];

export const scenarioNames: readonly string[] = scenarios.map(({ name }) => name);

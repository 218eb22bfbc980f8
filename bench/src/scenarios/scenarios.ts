import { fanout } from './fanout.js';
import type { Scenario } from './scenario.js';
import { skip } from './skip.js';

/** In the order in which they run. */
export const scenarios: readonly Scenario[] = [skip, fanout];

export const scenarioNames: readonly string[] = scenarios.map(({ name }) => name);

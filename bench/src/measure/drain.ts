import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../host/monotonic-clock.js';
import type { LoadGenerator } from '../load/load-generator.js';
import type { Publisher } from '../publish/publisher.js';
import { redisCpuUs, serversCpuUs, type Target } from '../targets/target.js';

export interface DrainWork {
  /** The publisher's source. */
  readonly source: string;
  readonly events: number;
  /** One more event for these users, whose arrival says that everything before it has been handled. */
  readonly thenTo?: readonly string[];
  /** The group of clients that gets the events, and how many frames it gets from all of them. */
  readonly group: string;
  readonly frames: number;
}

export interface DrainSample {
  readonly seconds: number;
  readonly serverCpuUs: number;
  readonly redisCpuUs: number;
  readonly loadCpuUs: number;
}

// Acknowledgements follow the last frame and belong to the work.
const settleMs = 50;

/**
 * Stops the servers, lets the events pile up, lets the servers go on and waits until everything is delivered: all of them are
 * saturated in the same way, and whoever publishes costs nothing while it is measured.
 */
export async function measureDrain(
  { publisher, generator }: { readonly publisher: Publisher; readonly generator: LoadGenerator },
  target: Target,
  { source, events, thenTo, group, frames }: DrainWork,
): Promise<DrainSample> {
  await generator.reset(group);
  await Promise.all(target.servers.map((server) => server.pause()));
  await publisher.burst(source, events, thenTo === undefined ? {} : { thenTo });
  const cpu = { servers: serversCpuUs(target), redis: redisCpuUs(target), load: generator.cpuUs() };
  const startUs = monotonicUs();
  for (const server of target.servers) server.resume();
  const { lastFrameUs } = await generator.untilFrames(group, frames);
  await sleep(settleMs);
  return {
    seconds: (lastFrameUs - startUs) / 1_000_000,
    serverCpuUs: serversCpuUs(target) - cpu.servers,
    redisCpuUs: redisCpuUs(target) - cpu.redis,
    loadCpuUs: generator.cpuUs() - cpu.load,
  };
}

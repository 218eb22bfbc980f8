import { cpus } from 'node:os';

/** A look at how the machine's cores have spent their time; two of them make a share. */
export interface CoreTimes {
  readonly idleMs: number;
  readonly totalMs: number;
}

export function coreTimes(): CoreTimes {
  const times = cpus().map((core) => core.times);
  const sum = (values: readonly number[]): number => values.reduce((one, other) => one + other, 0);
  return { idleMs: sum(times.map(({ idle }) => idle)), totalMs: sum(times.flatMap((spent) => Object.values(spent))) };
}

/** From 0 to 1: how much of all cores somebody used between two looks. */
export function busyShare(from: CoreTimes, until: CoreTimes): number {
  return 1 - (until.idleMs - from.idleMs) / (until.totalMs - from.totalMs);
}

const startOfPageNs = process.hrtime.bigint();
const startOfPageUs = Number(startOfPageNs / 1000n);
const startOfPageMs = performance.now();

/** Microseconds on the clock that all processes of this machine share (CLOCK_MONOTONIC). No allocation. */
export function monotonicUs(): number {
  return startOfPageUs + Math.round((performance.now() - startOfPageMs) * 1000);
}

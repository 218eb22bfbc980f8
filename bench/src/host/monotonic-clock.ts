/**
 * `performance.now()` counts from the process's own start; this is where that start lies on the machine's clock. Taken between two
 * looks at that clock, the closest two of many: a process that is put aside between two lines would be wrong by as much.
 */
function findOriginUs(): number {
  let closestNs = Number.POSITIVE_INFINITY;
  let originUs = 0;
  for (let look = 0; look < 100; look++) {
    const before = process.hrtime.bigint();
    const nowMs = performance.now();
    const apartNs = Number(process.hrtime.bigint() - before);
    if (apartNs >= closestNs) continue;
    closestNs = apartNs;
    originUs = Number(before / 1000n) - nowMs * 1000;
  }
  return originUs;
}

const originUs = findOriginUs();

/** Microseconds on the clock that all processes of this machine share (CLOCK_MONOTONIC), without an allocation. */
export function monotonicUs(): number {
  return Math.round(originUs + performance.now() * 1000);
}

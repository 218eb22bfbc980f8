/** A seeded generator (mulberry32): the same seed gives every system the same work. Values lie in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** `count` different integers from [from, from + range). */
export function distinctIntegers(random: () => number, count: number, from: number, range: number): number[] {
  if (count > range) throw new Error(`${count} different ones of ${range}`);
  if (count === range) return Array.from({ length: range }, (_, index) => from + index);
  const taken = new Set<number>();
  while (taken.size < count) taken.add(from + Math.floor(random() * range));
  return [...taken];
}

import type { SeededRandom } from '@event-gateway/fleet';

/** `count` different integers from [from, from + range). */
export function distinctIntegers(random: SeededRandom, count: number, from: number, range: number): number[] {
  if (count > range) throw new Error(`${count} different ones of ${range}`);
  if (count === range) return Array.from({ length: range }, (_, index) => from + index);
  const taken = new Set<number>();
  while (taken.size < count) taken.add(random.integer(from, from + range - 1));
  return [...taken];
}

/**
 * Runs `measure` for every target in turn, again and again (A B C, A B C, …), and returns each target's samples in that order: what
 * changes on the machine meanwhile changes for all of them.
 */
export async function alternate<T, S>(
  targets: readonly T[],
  repetitions: number,
  measure: (target: T, repetition: number) => Promise<S>,
): Promise<Map<T, S[]>> {
  const samples = new Map<T, S[]>(targets.map((target) => [target, []]));
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const [target, taken] of samples) taken.push(await measure(target, repetition));
  }
  return samples;
}

import { describe, expect, test } from 'vitest';
import { type RunOptions, runSchedule } from '../../src/chaos/run-schedule.js';
import { planSchedule, type PlannedFault } from '../../src/chaos/schedule.js';
import type { Verdict } from '../../src/chaos/verdict.js';

/** One hole for everybody, with messages before, in and after it. */
const faults: PlannedFault[] = [
  { kind: 'kill_replica', atMs: 500, lastsMs: 0, replica: 0 },
  { kind: 'wipe_redis', atMs: 1500, lastsMs: 500, replica: undefined },
];

const play = (options: RunOptions): Promise<Verdict> =>
  runSchedule({ ...planSchedule(1), durationMs: 4000, faults }, { boundMs: 20_000, ...options });
const complaintsOf = (kind: RegExp, { complaints }: Verdict): string[] => complaints.filter((complaint) => kind.test(complaint));

// A checker that finds nothing proves nothing: each of these does wrong on purpose.
describe('the checker of fault runs', () => {
  test('has nothing to say about clients that obey the contract', async () => {
    const { complaints, counts } = await play({ obedience: { dedupes: true, listens: true } });
    expect(complaints).toEqual([]);
    expect(counts.told.get('gap')).toBeGreaterThanOrEqual(300);
  }, 120_000);

  test('finds clients that do not dedupe', async () => {
    const verdict = await play({ obedience: { dedupes: false, listens: true } });
    expect(complaintsOf(/twice, or out of order/, verdict)).not.toEqual([]);
  }, 120_000);

  test('finds clients that do not listen to sync.required', async () => {
    const verdict = await play({ obedience: { dedupes: true, listens: false }, boundMs: 3000 });
    expect(verdict.wholeAfterMs).toBeUndefined();
    expect(complaintsOf(/the application has not got/, verdict)).not.toEqual([]);
  }, 120_000);

  test('finds replicas that share a consumer group', async () => {
    const verdict = await play({ env: { UNSAFE_SHARED_GROUP: '1' }, boundMs: 3000 });
    expect(complaintsOf(/nobody had announced a hole/, verdict)).not.toEqual([]);
    expect(complaintsOf(/the application has not got/, verdict)).not.toEqual([]);
  }, 120_000);
});

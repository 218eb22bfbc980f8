import { describe, expect, test } from 'vitest';
import { conversationsOf, populate } from '../../src/chaos/population.js';
import {
  describeSchedule,
  type FaultKind,
  isLossy,
  type PlannedFault,
  planSchedule,
  replicaCount,
  type Variant,
} from '../../src/chaos/schedule.js';
import { SeededRandom } from '../../src/tools/seeded-random.js';

const seeds = Array.from({ length: 200 }, (_, index) => index);
const faultsOf = (variant: Variant): PlannedFault[] => seeds.flatMap((seed) => [...planSchedule(seed, variant).faults]);

describe('a schedule', () => {
  test.each(['single', 'sentinel'] as const)('of one seed is the same every time (%s)', (variant) => {
    for (const seed of seeds) expect(planSchedule(seed, variant)).toEqual(planSchedule(seed, variant));
    expect(planSchedule(1, variant).faults).not.toEqual(planSchedule(2, variant).faults);
  });

  test.each(['single', 'sentinel'] as const)('ends within 30 s, and its faults a while before (%s)', (variant) => {
    for (const seed of seeds) {
      const { durationMs, faults } = planSchedule(seed, variant);
      expect(durationMs).toBeLessThanOrEqual(30_000);
      expect(faults.length).toBeGreaterThanOrEqual(5);
      for (const { atMs, lastsMs } of faults) expect(atMs + lastsMs).toBeLessThanOrEqual(durationMs - 3000);
    }
  });

  test('hits nothing that is under a fault already', () => {
    for (const seed of seeds) {
      const { faults } = planSchedule(seed);
      for (const [index, { replica, atMs, lastsMs }] of faults.entries()) {
        const later = faults.slice(index + 1).filter((fault) => fault.replica === replica);
        for (const next of later) expect(next.atMs).toBeGreaterThanOrEqual(atMs + lastsMs);
      }
    }
  });

  test('of some seed has each kind of fault, on each replica', () => {
    const kinds = (variant: Variant): Set<FaultKind> => new Set(faultsOf(variant).map(({ kind }) => kind));
    const common = ['kill_replica', 'drain_replica', 'pause_replica', 'destroy_group', 'cut_reader', 'trim', 'flush'] as const;
    expect(kinds('single')).toEqual(new Set([...common, 'pause_redis', 'restart_redis', 'wipe_redis', 'roll_back_redis']));
    expect(kinds('sentinel')).toEqual(new Set([...common, 'fail_over', 'fail_over_behind', 'fail_over_hung']));
    const replicas = new Set(faultsOf('single').flatMap(({ replica }) => (replica === undefined ? [] : [replica])));
    expect(replicas.size).toBe(replicaCount);
  });

  test('of every fifth seed has nothing in it that may lose anything, and replicas that remember everything', () => {
    for (const seed of seeds) expect(isLossy(planSchedule(seed))).toBe(seed % 5 !== 0);
    expect(planSchedule(5).tailBytes).toBeGreaterThan(1_000_000);
  });

  test('reads as one line for each fault', () => {
    const faults = [{ kind: 'kill_replica' as const, atMs: 1500, lastsMs: 20, replica: 1 }];
    expect(describeSchedule({ ...planSchedule(1), faults })).toEqual(['  1.50 s  kill_replica gateway-2 for 20 ms']);
  });
});

test('a population has 100 users, and each of them has somebody to write to', () => {
  for (const seed of seeds.slice(0, 20)) {
    const population = populate(seed);
    expect(population).toEqual(populate(seed));
    expect(new Set(population.users).size).toBe(100);
    for (const user of population.users) expect(conversationsOf(population, user)).not.toEqual([]);
    for (const { participants } of population.conversations) expect(new Set(participants).size).toBe(participants.length);
  }
});

test('random numbers are spread over their range, and repeat with their seed', () => {
  const [random, again] = [new SeededRandom(7), new SeededRandom(7)];
  const drawn = Array.from({ length: 1000 }, () => random.integer(1, 6));
  expect(Array.from({ length: 1000 }, () => again.integer(1, 6))).toEqual(drawn);
  for (const face of [1, 2, 3, 4, 5, 6]) expect(drawn.filter((one) => one === face).length).toBeGreaterThan(100);
  expect(random.shuffled([1, 2, 3]).sort()).toEqual([1, 2, 3]);
});

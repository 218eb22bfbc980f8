import { SeededRandom } from '../tools/seeded-random.js';

/** `single`: one Redis that keeps an AOF. `sentinel`: a master and two replicas that a Sentinel watches. */
export type Variant = 'single' | 'sentinel';

export type FaultKind =
  /** kill -9, and started again with the same id. */
  | 'kill_replica'
  /** SIGTERM, as a deploy does, and started again with the same id when it has ended. */
  | 'drain_replica'
  /** SIGSTOP, then SIGCONT. */
  | 'pause_replica'
  | 'pause_redis'
  /** kill -9, and back with every acknowledged write. */
  | 'restart_redis'
  /** kill -9, and back empty. */
  | 'wipe_redis'
  /** kill -9, and back as it was a moment before: acknowledged writes are gone, ids go on growing. */
  | 'roll_back_redis'
  | 'flush'
  | 'destroy_group'
  | 'trim'
  /** CLIENT KILL of the connection that a replica reads on. */
  | 'cut_reader'
  /** The master dies and its replica, which has everything, takes over. */
  | 'fail_over'
  /** The same, and the replica has not got the last writes. */
  | 'fail_over_behind'
  /** The master hangs, is replaced, and wakes up. */
  | 'fail_over_hung';

export interface PlannedFault {
  readonly kind: FaultKind;
  /** From the moment that publishing begins. */
  readonly atMs: number;
  /** How long something is away; 0: it happens and is over. */
  readonly lastsMs: number;
  /** Index of the replica that it hits; undefined: it hits Redis. */
  readonly replica: number | undefined;
}

export interface Schedule {
  readonly seed: number;
  readonly variant: Variant;
  /** Publishing goes on for this long, the faults end a while before. */
  readonly durationMs: number;
  readonly faults: readonly PlannedFault[];
  /** What every replica is started with on top of the run's own. */
  readonly tailBytes: number;
}

/**
 * Whoever was connected may have missed something after these. After a schedule without any of them, on replicas that remember all of
 * it, nobody may have been told so, and nobody may have asked the messenger.
 */
const lossy: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'pause_redis', // a cursor that a replica cannot judge alone is refused meanwhile
  'restart_redis', // nobody can know that it has kept everything
  'wipe_redis',
  'roll_back_redis',
  'flush',
  'trim',
  'fail_over',
  'fail_over_behind',
  'fail_over_hung',
]);

/** A few seconds' worth: older cursors have to be served from the stream, while Redis may be away. */
const smallTailBytes = 65_536;
const fullTailBytes = 67_108_864;

const firstFaultMs = 500;
/** The last moments are quiet: what goes on then must be as if nothing had been. */
const quietMs = 3000;
/** Below 30 s together with the quiet end. A Sentinel takes seconds to decide. */
const faultyMs: Readonly<Record<Variant, number>> = { single: 14_000, sentinel: 24_000 };
export const replicaCount = 3;

const deck: Readonly<Record<'gentle' | Variant, readonly FaultKind[]>> = {
  gentle: [
    ...repeat('kill_replica', 4),
    ...repeat('drain_replica', 2),
    ...repeat('pause_replica', 3),
    ...repeat('destroy_group', 3),
    ...repeat('cut_reader', 3),
  ],
  single: [
    ...repeat('kill_replica', 3),
    'drain_replica',
    ...repeat('pause_replica', 2),
    ...repeat('destroy_group', 2),
    ...repeat('cut_reader', 2),
    ...repeat('trim', 2),
    ...(['pause_redis', 'restart_redis', 'wipe_redis', 'roll_back_redis', 'flush'] as const),
  ],
  sentinel: [
    ...repeat('kill_replica', 3),
    'drain_replica',
    ...repeat('pause_replica', 2),
    ...(['destroy_group', 'cut_reader', 'trim', 'flush'] as const),
    ...(['fail_over', 'fail_over_behind', 'fail_over_hung'] as const),
  ],
};

/** How long it lasts, at least and at most. Around the lease of a replica id (2 s in these runs): shorter and longer. */
const lengthsMs: Readonly<Record<FaultKind, readonly [number, number]>> = {
  kill_replica: [0, 3000],
  drain_replica: [0, 1000],
  pause_replica: [200, 4000],
  pause_redis: [100, 4000],
  restart_redis: [0, 1500],
  wipe_redis: [0, 1500],
  roll_back_redis: [200, 1500],
  flush: [0, 0],
  destroy_group: [0, 0],
  trim: [0, 0],
  cut_reader: [0, 0],
  fail_over: [0, 0],
  fail_over_behind: [200, 1000],
  fail_over_hung: [1500, 3000],
};

const hitsReplica: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'kill_replica',
  'drain_replica',
  'pause_replica',
  'destroy_group',
  'cut_reader',
]);
const isFailover = (kind: FaultKind): boolean => kind.startsWith('fail_over');

/** Nothing else is done to Redis for this long: a Sentinel looks every ten seconds for masters that do not know yet that they are none. */
const failoverMs = 11_000;

/** The same seed and variant give the same schedule. Every fifth one has nothing in it after which anybody may have missed something. */
export function planSchedule(seed: number, variant: Variant = 'single'): Schedule {
  const random = new SeededRandom(seed);
  const isGentle = variant === 'single' && seed % 5 === 0;
  const cards = isGentle ? deck.gentle : deck[variant];
  const endMs = faultyMs[variant];
  const faults: PlannedFault[] = [];
  const busyUntilMs = new Map<number | undefined, number>();
  let waiting = random.shuffled(cards);
  for (let atMs = firstFaultMs; atMs < endMs; atMs += random.integer(200, 1600)) {
    const fault = draw(random, waiting, atMs, endMs, busyUntilMs);
    if (fault === undefined) continue;
    faults.push(fault);
    waiting.splice(waiting.indexOf(fault.kind), 1);
    busyUntilMs.set(fault.replica, atMs + (isFailover(fault.kind) ? failoverMs : fault.lastsMs));
    if (waiting.length === 0) waiting = random.shuffled(cards);
  }
  return {
    seed,
    variant,
    durationMs: endMs + quietMs,
    faults,
    tailBytes: isGentle ? fullTailBytes : random.pick([smallTailBytes, fullTailBytes]),
  };
}

export function isLossy({ faults }: Schedule): boolean {
  return faults.some(({ kind }) => lossy.has(kind));
}

/** The first card whose target is not under a fault already, and which is over in time. */
function draw(
  random: SeededRandom,
  cards: readonly FaultKind[],
  atMs: number,
  endMs: number,
  busyUntilMs: ReadonlyMap<number | undefined, number>,
): PlannedFault | undefined {
  const isFree = (target: number | undefined): boolean => (busyUntilMs.get(target) ?? 0) <= atMs;
  const freeReplicas = Array.from({ length: replicaCount }, (_, index) => index).filter(isFree);
  for (const kind of cards) {
    if (hitsReplica.has(kind) ? freeReplicas.length === 0 : !isFree(undefined)) continue;
    if (isFailover(kind) && atMs + failoverMs > endMs) continue;
    const [shortestMs, longestMs] = lengthsMs[kind];
    const lastsMs = Math.min(endMs - atMs, random.integer(shortestMs, longestMs));
    return { kind, atMs, lastsMs, replica: hitsReplica.has(kind) ? random.pick(freeReplicas) : undefined };
  }
  return undefined;
}

/** One line for each fault. */
export function describeSchedule({ faults }: Schedule): string[] {
  return faults.map(({ kind, atMs, lastsMs, replica }) => {
    const target = replica === undefined ? '' : ` gateway-${replica + 1}`;
    const length = lastsMs > 0 ? ` for ${lastsMs} ms` : '';
    return `${(atMs / 1000).toFixed(2).padStart(6)} s  ${kind}${target}${length}`;
  });
}

function repeat(kind: FaultKind, times: number): FaultKind[] {
  return Array.from({ length: times }, () => kind);
}

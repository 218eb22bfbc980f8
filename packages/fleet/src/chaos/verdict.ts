import type { ChaosClient } from './chaos-client.js';
import type { AuditCounts } from './frame-audit.js';
import { isLossy, type Schedule } from './schedule.js';

export interface Verdict {
  readonly schedule: Schedule;
  /** What must not have happened; none: the run held. */
  readonly complaints: readonly string[];
  /** From the end of the last fault (or of writing, if that was later) until every client had everything; undefined: never. */
  readonly wholeAfterMs: number | undefined;
  readonly messages: number;
  /** Events that had to be put on the bus once more, since Redis had not confirmed them. */
  readonly retries: number;
  /** The longest time in which this process, which is the clients and the messenger, did not get to run. */
  readonly heldUpMs: number;
  /** All clients together. */
  readonly counts: AuditCounts;
}

export function sumCounts(clients: readonly ChaosClient[]): AuditCounts {
  const sum: AuditCounts = { durable: 0, synced: 0, hellos: 0, resumed: 0, told: new Map(), syncs: 0, closes: new Map() };
  for (const { audit } of clients) {
    const { counts } = audit;
    sum.durable += counts.durable;
    sum.synced += counts.synced;
    sum.hellos += counts.hellos;
    sum.resumed += counts.resumed;
    sum.syncs += counts.syncs;
    addTo(sum.told, counts.told);
    addTo(sum.closes, counts.closes);
  }
  return sum;
}

/** @param clientCount each of them has synced once, when it started */
export function complainOfNeedlessSyncs(schedule: Schedule, { told, syncs }: AuditCounts, clientCount: number): string[] {
  if (isLossy(schedule)) return [];
  const complaints = [...told].map(([reason, count]) => `sync.required (${reason}) ${count} times, although nothing can have been lost`);
  return syncs > clientCount ? [...complaints, `${syncs - clientCount} syncs, although nothing can have been lost`] : complaints;
}

export function describeVerdict({ schedule, complaints, wholeAfterMs, messages, retries, heldUpMs, counts }: Verdict): string[] {
  const whole =
    wholeAfterMs === undefined ? 'never whole' : `whole ${(wholeAfterMs / 1000).toFixed(1)} s after the last fault and the last message`;
  const told = [...counts.told].map(([reason, count]) => `${reason} ${count}`).join(', ') || 'nobody';
  const closes = [...counts.closes].map(([code, count]) => `${code} ${count}`).join(', ') || 'none';
  return [
    `seed ${schedule.seed} (${schedule.variant}): ${complaints.length === 0 ? 'held' : 'FAILED'}, ${whole}`,
    `  ${schedule.faults.length} faults, ${messages} messages (${retries} published again), ${counts.durable} live frames, ${counts.synced} synced`,
    `  ${counts.hellos} connections, ${counts.resumed} resumed, ${counts.syncs} syncs; told: ${told}; closed: ${closes}`,
    ...(heldUpMs > noticeableMs ? [`  the machine was busy: this process was held up for ${Math.round(heldUpMs)} ms at a time`] : []),
    ...summarize(complaints).map((complaint) => `  ! ${complaint}`),
  ];
}

const maxLines = 40;
const noticeableMs = 200;

/** What several clients complain of in the same words is one line. */
function summarize(complaints: readonly string[]): string[] {
  const clients = new Map<string, string[]>();
  for (const complaint of complaints) {
    const [, client = '', text = complaint] = /^(user-\d+\/\d+): (.*)$/s.exec(complaint) ?? [];
    clients.set(text, [...(clients.get(text) ?? []), client]);
  }
  const lines = [...clients].map(([text, [first = '', ...more]]) => {
    const who = more.length === 0 ? first : `${first} and ${more.length} more`;
    return who === '' ? text : `${who}: ${text}`;
  });
  return lines.length > maxLines ? [...lines.slice(0, maxLines), `and ${lines.length - maxLines} more`] : lines;
}

function addTo<Key>(sum: Map<Key, number>, counts: ReadonlyMap<Key, number>): void {
  for (const [key, count] of counts) sum.set(key, (sum.get(key) ?? 0) + count);
}

import { formatNumber } from './format.js';
import type { ScenarioResult } from './result.js';

export interface TargetRow {
  readonly figure: string;
  readonly target: string;
  readonly measured: string;
  readonly verdict: 'met' | 'not met' | 'not measured';
}

/** The medians of a run by figure id; undefined for what was not measured. */
type Medians = (id: string) => number | undefined;

/** One condition of a target: what was measured, and whether it is enough. */
interface Condition {
  readonly measured: number | undefined;
  readonly isMet: (measured: number) => boolean;
  readonly unit?: string;
}

const atMost = (measured: number | undefined, limit: number, unit?: string): Condition => ({
  measured,
  isMet: (value) => value <= limit,
  ...(unit === undefined ? {} : { unit }),
});

const atLeast = (measured: number | undefined, limit: number, unit?: string): Condition => ({
  measured,
  isMet: (value) => value >= limit,
  ...(unit === undefined ? {} : { unit }),
});

/** What the product is held to; a ratio is its own figure over a peer's in the same run. */
export function targetRows(results: readonly ScenarioResult[]): TargetRow[] {
  const figures = new Map(results.flatMap(({ figures: taken }) => Object.entries(taken)));
  const median: Medians = (id) => figures.get(id)?.median;
  return [
    row('CPU a delivered frame, saturated, 1,000 sockets, k = 20 and k = 2, against Socket.IO', '≤ 0.28 and ≤ 0.55', [
      atMost(median('fanout/1000/20/ratio/socket.io'), 0.28),
      atMost(median('fanout/1000/2/ratio/socket.io'), 0.55),
    ]),
    row('the same with 5,000 sockets', '≤ 0.45 and ≤ 0.6', [
      atMost(median('fanout/5000/20/ratio/socket.io'), 0.45),
      atMost(median('fanout/5000/2/ratio/socket.io'), 0.6),
    ]),
    row('CPU an event that concerns nobody, 2 and 20 recipients, against Socket.IO', '≤ 0.33 and ≤ 0.33', [
      atMost(median('skip/2/ratio/socket.io'), 0.33),
      atMost(median('skip/20/ratio/socket.io'), 0.33),
    ]),
    row('live at 8,000 events/s, nobody local, against Socket.IO', '≤ 0.55', [atMost(median('skip/live/ratio/socket.io'), 0.55)]),
    row('sustained frames/s, k = 20, against Socket.IO', '≥ 4 ×', [atLeast(median('ramp/20/ratio/socket.io'), 4, '×')]),
    row('p99 at equal load, 1,500 events/s × 20 and 8,800 × 2', 'below every peer', [
      belowPeers(figures.keys(), median, 'latency/1500x20/p99/'),
      belowPeers(figures.keys(), median, 'latency/8800x2/p99/'),
    ]),
    row('memory of an idle connection, 10,000 held, and against Socket.IO', '≤ 4 KB and ≤ 0.3', [
      atMost(quotient(median('idle/10000/gateway'), 1024), 4, 'KB'),
      atMost(quotient(median('idle/10000/gateway'), median('idle/10000/socket.io')), 0.3),
    ]),
    row('10,000 clients back after a replica dies; loop lag p99 of the survivor; sync requests', '≤ 10 s, ≤ 100 ms, 0', [
      atMost(median('reconnect/with cursor/seconds'), 10, 's'),
      atMost(median('reconnect/with cursor/loop_lag_p99_ms'), 100, 'ms'),
      atMost(median('reconnect/with cursor/sync_requests'), 0, 'requests'),
    ]),
    row(
      'p99 of those whom a replica serves while 10,000 of another come to it, against a quiet one; the same with clients that ignore every hint',
      '≤ 3 ×',
      [atMost(median('storm/plain/client/p99_ratio'), 3, '×'), atMost(median('storm/plain/hasty/p99_ratio'), 3, '×')],
    ),
    row('accepted above the accept rate in such a storm; clients that do not come back', '0', [
      atMost(mostOf(median, ['storm/plain/client/over_bucket', 'storm/plain/hasty/over_bucket']), 0, 'connections'),
      atMost(mostOf(median, ['storm/plain/client/away', 'storm/plain/hasty/away']), 0, 'clients'),
    ]),
    row('Redis CPU an event and replica, batches; 1 and 8 replicas', '≤ 1.5 µs', [
      atMost(median('replicas/1/redis'), 1.5, 'µs'),
      atMost(median('replicas/8/redis'), 1.5, 'µs'),
    ]),
    row('cost of an event with ten times the connections held', '≤ 1.1 ×', [atMost(median('growth/held/10000/ratio'), 1.1, '×')]),
    row('cost of an event with 500 local recipients against 25 times that with 20', '≤ 1.1 ×', [
      atMost(quotient(median('growth/k/500'), product(median('growth/k/20'), 25)), 1.1, '×'),
    ]),
    row('a replica’s cost of an event among 8 replicas, against one alone', '≤ 1.1 ×', [
      atMost(quotient(median('replicas/8/replica'), median('replicas/1/replica')), 1.1, '×'),
    ]),
  ];
}

function row(figure: string, target: string, conditions: readonly Condition[]): TargetRow {
  const measured = conditions.map(({ measured: value, unit }) =>
    value === undefined ? '–' : `${formatNumber(value)}${unit === undefined ? '' : ` ${unit}`}`,
  );
  const isMissing = conditions.some(({ measured: value }) => value === undefined);
  const isMet = conditions.every(({ measured: value, isMet: enough }) => value !== undefined && enough(value));
  return { figure, target, measured: measured.join(' and '), verdict: isMissing ? 'not measured' : isMet ? 'met' : 'not met' };
}

/** The gateway's figure over the best peer's. */
function belowPeers(ids: Iterable<string>, median: Medians, prefix: string): Condition {
  const peers = [...ids].filter((id) => id.startsWith(prefix) && id !== `${prefix}gateway`).flatMap((id) => median(id) ?? []);
  const measured = peers.length === 0 ? undefined : quotient(median(`${prefix}gateway`), Math.min(...peers));
  return { measured, isMet: (value) => value < 1, unit: 'of the best peer’s' };
}

/** Undefined when one of them is. */
function mostOf(median: Medians, ids: readonly string[]): number | undefined {
  const values = ids.flatMap((id) => median(id) ?? []);
  return values.length === ids.length ? Math.max(...values) : undefined;
}

function quotient(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one / other;
}

function product(one: number | undefined, other: number): number | undefined {
  return one === undefined ? undefined : one * other;
}

import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import type { HandlerEvent } from './reading-replica.js';

export interface Published {
  readonly id: StreamId;
  readonly name: string;
  /** When it was sent and when Redis had acknowledged it, on the clock of the story. */
  readonly sentAtMs: number;
  readonly addedAtMs: number;
}

export type TimedEvent = HandlerEvent & { readonly atMs: number };

/**
 * Holds a replica's story against what was published: every entry was handed on, or a gap was told after it had been sent and before
 * anything that was sent after it had been added. Returns the complaints.
 */
export function findSilentLosses(published: readonly Published[], story: readonly TimedEvent[]): string[] {
  const sentMs = new Map(published.map(({ name, sentAtMs }) => [name, sentAtMs]));
  const handled = new Set(story.flatMap((event) => (event.kind === 'entry' ? [event.name] : [])));
  return published.flatMap(({ id, name, sentAtMs, addedAtMs }) => {
    if (handled.has(name)) return [];
    const behind = story.findIndex((event) => event.kind === 'entry' && (sentMs.get(event.name) ?? 0) > addedAtMs);
    const before = behind < 0 ? story : story.slice(0, behind);
    const isTold = before.some((event) => event.kind === 'gap' && event.atMs >= sentAtMs);
    return isTold ? [] : [`${name} (${id}) was lost in silence`];
  });
}

/** What comes more than once although no gap allowed it, and what comes out of order. */
export function findRepetitions(story: readonly TimedEvent[]): string[] {
  const complaints: string[] = [];
  const seen = new Set<string>();
  let position: StreamId | undefined;
  for (const event of story) {
    if (event.kind === 'gap') {
      position = event.gap.cursor ?? undefined;
      continue;
    }
    if (position !== undefined && compareStreamIds(event.id, position) <= 0) complaints.push(`${event.name} came out of order`);
    if (seen.has(event.name)) complaints.push(`${event.name} came twice`);
    seen.add(event.name);
    position = event.id;
  }
  return complaints;
}

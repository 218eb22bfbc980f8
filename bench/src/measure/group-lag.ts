import type { Reply } from '@event-gateway/fleet';
import type { Target } from '../targets/target.js';

/**
 * Entries that the gateway's group has not been given yet plus those that it has not acknowledged; the first group's, if there are
 * several. Undefined for systems without one, and while Redis does not know.
 */
export async function groupLag({ name, redis }: Target): Promise<number | undefined> {
  if (name !== 'gateway') return undefined;
  const groups = await redis.call('XINFO', 'GROUPS', 'messenger.events');
  const group = listOf(groups)[0];
  const [lag, pending] = [fieldOf(group, 'lag'), fieldOf(group, 'pending')];
  return lag === undefined || pending === undefined ? undefined : lag + pending;
}

/** From a flat list of names and values. */
function fieldOf(group: Reply | undefined, field: string): number | undefined {
  const list = listOf(group);
  const value = list[list.indexOf(field) + 1];
  return typeof value === 'number' ? value : undefined;
}

function listOf(reply: Reply | undefined): readonly Reply[] {
  return typeof reply === 'object' && reply !== null ? reply : [];
}

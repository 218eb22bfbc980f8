// One process of the load generator: groups of clients that connect, count, and say what they have counted.
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { serveParent } from '../processes/serve-parent.js';
import { ClientGroup } from './client-group.js';
import { type Endpoint, LoadClient, type Opening } from './load-client.js';
import type { ConnectRequest, LoadCalls } from './load-calls.js';
import type { LoadUser } from './protocols/client-protocol.js';
import { protocols } from './protocols/protocols.js';
import { Reconnecting } from './reconnecting.js';

const mostAttempts = 20;
const groups = new Map<string, ClientGroup>();
const reconnecting = new Map<string, Reconnecting>();

function groupOf(name: string): ClientGroup {
  const group = groups.get(name);
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return group;
}

async function connectUsers({
  group: name,
  protocol,
  port,
  users,
  concurrency,
  localAddress,
  isTls,
  followsCursors,
}: ConnectRequest): Promise<void> {
  const group = groups.get(name) ?? new ClientGroup(protocols[protocol], followsCursors);
  groups.set(name, group);
  const rest = users.values();
  const openOneAfterAnother = async (): Promise<void> => {
    for (const user of rest) {
      const opening = await openPatiently(group, user, { port, localAddress, isTls });
      if (opening.outcome !== 'open') throw new Error(`${name}: ${user.id} could not connect: ${JSON.stringify(opening)}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, openOneAfterAnother));
}

async function openPatiently(group: ClientGroup, user: LoadUser, endpoint: Endpoint): Promise<Opening> {
  for (let attempt = 1; ; attempt++) {
    const opening = await new LoadClient(group, user, endpoint, undefined).opened();
    const isToldToComeLater = opening.outcome === 'refused' && opening.status === 503 && opening.retryAfterS !== undefined;
    if (!isToldToComeLater || attempt === mostAttempts) return opening;
    await sleep(1000 * (opening.retryAfterS ?? 1));
  }
}

serveParent<LoadCalls>({
  connect: async (request) => {
    await connectUsers(request);
    return undefined;
  },
  reset: ({ group, measuresLatency }) => {
    groupOf(group).reset(measuresLatency);
    return undefined;
  },
  counts: ({ group }) => groupOf(group).counts(),
  latencies: ({ group }) => {
    const histogram = groupOf(group).latencies();
    if (histogram === undefined) throw new Error(`${group} measures no latency`);
    return encodeIntoCompressedBase64(histogram);
  },
  comeBack: ({ group, policy }) => {
    reconnecting.set(group, new Reconnecting(groupOf(group), policy));
    return undefined;
  },
  reconnects: ({ group }) => {
    const counts = reconnecting.get(group)?.counts();
    if (counts === undefined) throw new Error(`nobody of ${group} comes back`);
    return counts;
  },
  close: ({ group }) => {
    reconnecting.get(group)?.stop();
    reconnecting.delete(group);
    groups.get(group)?.close();
    groups.delete(group);
    return undefined;
  },
});
